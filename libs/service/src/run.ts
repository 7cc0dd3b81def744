import { flushCompileCache } from 'node:module'
import { format } from 'node:util'
import { type Config, ConfigError, loadConfig, version } from '@parley/config'
import { type Logger, type Metrics, serveMetrics, shutdownTelemetry } from '@parley/telemetry'
import type { FastifyPluginAsync } from 'fastify'
import { type AppOptions, buildApp } from './app.ts'
import { type Deps, openDeps } from './deps.ts'
import { type Checks, databaseCheck } from './health.ts'

/** A service: its routes, and its background work. */
export interface Service {
  plugin?: FastifyPluginAsync
  /** Starts the background work (a relay, queues). */
  start?(): Promise<void>
  /** Stops the background work. Called after the last request was answered. */
  stop?(): Promise<void>
  /** Further dependencies of readiness. */
  checks?: Checks
  /** Hooks that run before the caller is identified; see `AppOptions`. */
  edge?: AppOptions['edge']
  /** For services with event streams; see `AppOptions`. */
  filesPerStream?: AppOptions['filesPerStream']
  /** False for a service that works without PostgreSQL, so that its readiness does not check it. */
  usesDatabase?: boolean
}

/**
 * Runs a service as a process: configuration, dependencies, HTTP, metrics. On SIGTERM or SIGINT it shuts down in order:
 * it reports that it is not ready, finishes open requests and closes its connections. Repeated signals are ignored.
 * `unused` lists the keys and sections of the configuration that the service does not use.
 */
export async function runService(
  name: string,
  create: (deps: Deps) => Service | Promise<Service>,
  { position = 'inside' as 'edge' | 'inside', unused = [] as readonly string[] } = {},
): Promise<void> {
  const config = await loadConfig({ unused }).catch(reportFaults)
  const usesRedis = !unused.includes('redis')
  const { deps, close } = await Promise.try(() => openDeps(name, config, Date.now, { usesRedis })).catch(reportFaults)
  logConsole(deps.logger)
  const service = await Promise.try(() => create(deps)).catch(reportFaults)
  const { fastify, drain } = await buildApp({
    deps,
    position,
    edge: service.edge,
    filesPerStream: service.filesPerStream,
    recordsEvents: service.usesDatabase !== false,
    checks: { ...(service.usesDatabase !== false && { postgresql: databaseCheck(deps) }), ...service.checks },
  })
  if (service.plugin) await fastify.register(service.plugin)
  await service.start?.().catch(reportFaults)
  const metricsServer = await exposeMetrics(config, deps.metrics).catch(reportFaults)
  await fastify.ready()
  keepCompiledCode()
  const address = await fastify
    .listen({ host: config.server.host, port: config.server.port, backlog: 4096 })
    .catch(refuseAddress('server'))
    .catch(reportFaults)
  onStopSignal(deps.logger, config.server.shutdownSeconds, {
    requests() {
      drain()
      return fastify.close()
    },
    service: () => service.stop?.(),
    metrics: () => metricsServer?.close(),
    connections: close,
    tracing: shutdownTelemetry,
  })
  deps.logger.info({ address, version }, 'service is listening')
  // A process manager that has opened an IPC channel waits for this message.
  process.send?.('ready')
}

/**
 * Writes the code that this process has compiled to the directory of NODE_COMPILE_CACHE, if there is one. The first
 * time this takes seconds and blocks the process, so call it before the process listens. Otherwise Node.js writes the
 * code at the exit, which delays the stop of the process.
 */
export const keepCompiledCode = (): void => flushCompileCache()

/**
 * Serves the metrics at `metrics.port`. Returns the server; undefined when the port is 0, which turns them off.
 * @throws ConfigError when the address cannot be used.
 */
export async function exposeMetrics(config: Config, metrics: Metrics) {
  const { host, port } = config.metrics
  return port === 0 ? undefined : serveMetrics({ metrics, host, port }).catch(refuseAddress('metrics'))
}

/** Makes log lines of what libraries write to the console, such as BullMQ about the settings of Redis. */
function logConsole(logger: Logger): void {
  for (const level of ['warn', 'error'] as const) {
    console[level] = (...parts: unknown[]) =>
      logger[level]({ text: format(...parts) }, 'a library wrote to the console')
  }
}

/** The key that is wrong when a server cannot listen, and the reason, by the error's code. */
const listenFaults: Record<string, ['host' | 'port', string]> = {
  EADDRINUSE: ['port', 'is taken by another program'],
  EACCES: ['port', 'may not be used by this user'],
  EADDRNOTAVAIL: ['host', 'is not an address of this machine'],
  ENOTFOUND: ['host', 'cannot be found'],
}

const refuseAddress =
  (section: 'server' | 'metrics') =>
  (error: NodeJS.ErrnoException): never => {
    const fault = listenFaults[error.code ?? '']
    if (!fault) throw error
    const [key, reason] = fault
    throw new ConfigError([{ key: `${section}.${key}`, message: `${reason} (${error.code})` }])
  }

/**
 * Stops these parts one after the other at the first SIGTERM or SIGINT, then exits. After `seconds` the process logs
 * for which part it is waiting, and exits at once.
 */
export function onStopSignal(logger: Logger, seconds: number, parts: Record<string, () => unknown>): void {
  let part: string | undefined
  const stop = async () => {
    for (const [name, end] of Object.entries(parts)) {
      part = name
      await end()
    }
  }
  const begin = (signal: NodeJS.Signals) => {
    if (part) return
    logger.info({ signal }, 'service is stopping')
    setTimeout(() => {
      logger.error({ part, seconds }, 'service did not stop in time')
      process.exit(1)
    }, seconds * 1000).unref()
    stop().then(
      () => process.exit(0),
      (error) => {
        process.stderr.write(`${error instanceof Error ? error.stack : error}\n`)
        process.exit(1)
      },
    )
  }
  process.on('SIGTERM', begin)
  process.on('SIGINT', begin)
}

/** Prints the faults of the configuration by key and exits. */
function reportFaults(error: unknown): never {
  process.stderr.write(`${error instanceof ConfigError ? error.message : (error as Error).stack}\n`)
  process.exit(1)
}
