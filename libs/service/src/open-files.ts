import type { Server } from 'node:http'
import { type Metrics, metric } from '@parley/telemetry'
import type { Deps } from './deps.ts'

/** Files that a process needs for itself: PostgreSQL, Redis, other services, logs. Of a low limit it is a quarter. */
const filesOfOurOwn = 1_024
const logEveryMs = 10_000

export interface OpenFiles {
  /** Files that one event stream takes; nothing where there are no streams. */
  filesPerStream: number | undefined
  /** The limit; undefined where there is none. */
  limit?: number | undefined
}

/**
 * Keeps the process below the number of files that it may open: at the limit the kernel would let neither clients nor PostgreSQL in,
 * and say nothing. Clients beyond are refused, which is logged and counted; a limit that is too low for the streams that are
 * configured is a warning.
 */
export function limitOpenFiles(
  server: Server,
  { config, logger, metrics }: Pick<Deps, 'config' | 'logger' | 'metrics'>,
  { filesPerStream, limit = readLimit() }: OpenFiles,
): void {
  if (limit === undefined) return
  const forClients = limit - Math.min(filesOfOurOwn, Math.floor(limit / 4))
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

/** Node itself has raised the soft limit to the hard one. */
function readLimit(): number | undefined {
  // Or it would look up names of addresses.
  Object.assign(process.report, { excludeNetwork: true })
  const { userLimits } = process.report.getReport() as { userLimits?: { open_files?: { soft: number | string } } }
  const limit = Number(userLimits?.open_files?.soft)
  return Number.isFinite(limit) ? limit : undefined
}
