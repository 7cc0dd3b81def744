import type { Server } from 'node:http'
import { type Metrics, metric } from '@parley/telemetry'
import type { Deps } from './deps.ts'

/**
 * Files that a process reserves for itself: PostgreSQL, Redis, other services, logs. With a low limit it reserves a
 * quarter of the limit.
 */
const reservedFiles = 1_024
const logEveryMs = 10_000

interface OpenFiles {
  /** Open files that one event stream needs; undefined for a process without event streams. */
  filesPerStream: number | undefined
  /** The limit of open files; undefined when there is none. */
  limit?: number | undefined
}

/**
 * Refuses connections before the process reaches its limit of open files. At the limit the kernel would refuse
 * connections of clients and to PostgreSQL, without a message. Refused connections are logged and counted. A limit that
 * is too low for `events.maxStreams` is logged as a warning.
 */
export function limitOpenFiles(
  server: Server,
  { config, logger, metrics }: Pick<Deps, 'config' | 'logger' | 'metrics'>,
  { filesPerStream, limit = readLimit() }: OpenFiles,
): void {
  if (limit === undefined) return
  const forClients = limit - Math.min(reservedFiles, Math.floor(limit / 4))
  const clients = Math.floor(forClients / (filesPerStream ?? 1))
  const { maxStreams } = config.events
  if (filesPerStream !== undefined && clients < maxStreams) {
    logger.warn(
      { openFiles: limit, streams: clients, maxStreams },
      'the limit of open files (ulimit -n) allows fewer event streams than events.maxStreams',
    )
  }
  server.maxConnections = clients
  logRefused(server, { logger, metrics, clients, limit })
}

function logRefused(
  server: Server,
  { logger, metrics, clients, limit }: { logger: Deps['logger']; metrics: Metrics; clients: number; limit: number },
): void {
  const counter = metrics.counter(metric.connectionsRefused).with()
  let refused = 0
  let loggedAt = Number.NEGATIVE_INFINITY
  server.on('drop', () => {
    counter.add()
    refused++
    if (performance.now() - loggedAt < logEveryMs) return
    loggedAt = performance.now()
    logger.warn(
      { refused, connections: clients, openFiles: limit },
      'connections were refused: no more files may be open',
    )
    refused = 0
  })
}

/** The soft limit. Node has raised it to the hard limit. */
function readLimit(): number | undefined {
  // Without this the report would look up the names of addresses.
  Object.assign(process.report, { excludeNetwork: true })
  const { userLimits } = process.report.getReport() as { userLimits?: { open_files?: { soft: number | string } } }
  const limit = Number(userLimits?.open_files?.soft)
  return Number.isFinite(limit) ? limit : undefined
}
