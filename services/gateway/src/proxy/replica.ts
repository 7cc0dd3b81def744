import type { Logger } from '@parley/telemetry'
import { buildConnector, Client, type Dispatcher, errors, Pool } from 'undici'
import { carriedConnections } from './carried-connections.ts'
import { type HealthCheck, type HealthCheckTimes, startHealthCheck } from './health-check.ts'

const connectTimeoutMs = 2_000
const backOffMs = 1_000

type Connections = Pick<Dispatcher, 'dispatch'> & Record<'close' | 'destroy', () => Promise<unknown>>

/** Connections by purpose. Long-lasting requests have connections of their own, so that they do not delay others. */
export interface Pools {
  /** Ordinary requests. Body and response are buffered here, so a slow client does not hold the connection. */
  calls: Pool
  uploads: Pool
  downloads: Pool
  /** Each event stream has a connection of its own, without a limit. */
  streams: Connections
  /** Requests of the gateway itself: readiness checks, and the description of the routes. */
  own: Pool
}

/** One process of a service. */
export interface Replica {
  pools: Pools
  /** Call it when the replica could not be reached. Other replicas are preferred for a second. */
  backOff(): void
  /** Calls `giveUp` when the replica stops answering. The returned function ends the watch. Call it when the exchange is over. */
  watchExchange(giveUp: () => void): () => void
  /** Whether it answers health checks and could be reached lately. */
  isHealthy(): boolean
  startHealthChecks(): void
  /** Sends no further requests to it. Resolves when none of its requests is open any more. */
  drain(): Promise<void>
  close(): Promise<void>
}

interface ReplicaOptions {
  service: string
  origin: string
  /** The name that the replica's certificate must have, when the origin has only an address. */
  host?: string | undefined
  logger: Logger
  healthChecks?: HealthCheckTimes | undefined
}

/** Opens keep-alive connections to one replica. */
export function connectReplica({ service, origin, host, logger, healthChecks }: ReplicaOptions): Replica {
  const connect = { timeout: connectTimeoutMs, ...(host !== undefined && { servername: host }) }
  const open = (connections: number, keepAliveTimeout: number) =>
    new Pool(origin, { connect, connections, keepAliveTimeout })
  const carried = carriedConnections(origin, connect)
  const pools: Pools = {
    calls: new Pool(origin, { connect: carried.connect, connections: 128, keepAliveTimeout: 60_000 }),
    uploads: open(128, 10_000),
    downloads: open(256, 10_000),
    streams: connectEachStream(origin, connect),
    own: open(4, 10_000),
  }
  const allPools = Object.values<Connections>({ ...pools })
  const exchanges = new Set<() => void>()
  let isAnswering = true
  let backsOffUntil = 0
  let healthCheck: HealthCheck | undefined

  return {
    pools,
    backOff() {
      backsOffUntil = performance.now() + backOffMs
    },
    watchExchange(giveUp) {
      // Each exchange gets a function of its own, because two callers may pass the same one.
      const exchange = () => giveUp()
      exchanges.add(exchange)
      return () => void exchanges.delete(exchange)
    },
    isHealthy: () => isAnswering && backsOffUntil <= performance.now(),
    startHealthChecks() {
      healthCheck = startHealthCheck({
        origin,
        host,
        times: healthChecks,
        onChange(answers) {
          isAnswering = answers
          if (answers) logger.info({ upstream: service, replica: origin }, 'a replica answers again')
          else logger.warn({ upstream: service, replica: origin }, 'a replica does not answer health checks')
        },
        onSilence() {
          if (exchanges.size === 0) return
          logger.warn(
            { upstream: service, replica: origin, exchanges: exchanges.size },
            'stopped waiting for the open requests of a silent replica',
          )
          for (const giveUp of [...exchanges]) giveUp()
        },
      })
    },
    async drain() {
      await Promise.all(allPools.map((pool) => pool.close()))
      carried.close()
      await healthCheck?.stop()
    },
    async close() {
      await healthCheck?.stop()
      await Promise.all(allPools.map((pool) => pool.destroy()))
      carried.close()
    },
  }
}

/**
 * Opens a connection for each stream. A pool would search all its connections for each request, which takes long with
 * thousands of busy streams.
 */
function connectEachStream(origin: string, options: buildConnector.BuildOptions): Connections {
  // The connector is shared, so that TLS sessions are resumed.
  const connect = buildConnector(options)
  const closings = new Map<Client, Promise<unknown>>()
  let isClosed = false
  return {
    dispatch(options, handler) {
      if (isClosed) {
        handler.onResponseError?.(null as never, new errors.ClientClosedError())
        return false
      }
      const client = new Client(origin, { connect })
      const isSent = client.dispatch(options, handler)
      // The client closes after its only request.
      closings.set(
        client,
        client.close().finally(() => closings.delete(client)),
      )
      return isSent
    },
    close() {
      isClosed = true
      return Promise.all(closings.values())
    },
    destroy() {
      isClosed = true
      return Promise.all([...closings.keys()].map((client) => client.destroy()))
    },
  }
}
