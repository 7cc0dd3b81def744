import type { Logger } from '@parley/telemetry'
import { buildConnector, Client, type Dispatcher, errors, Pool } from 'undici'
import { carriedConnections } from './carried-connections.ts'
import { type HealthCheck, type HealthCheckTimes, startHealthCheck } from './health-check.ts'

const connectTimeoutMs = 2_000
const backOffMs = 1_000

type Connections = Pick<Dispatcher, 'dispatch'> & Record<'close' | 'destroy', () => Promise<unknown>>

/** Connections by purpose. What lasts long has its own, so that it holds up nothing else. */
export interface Pools {
  /** Ordinary requests. Body and reply are buffered here, so a slow client does not hold the connection. */
  calls: Pool
  uploads: Pool
  downloads: Pool
  /** Each event stream has a connection of its own, without a limit. */
  streams: Connections
  /** Requests of the gateway itself: readiness, and the description of the routes. */
  own: Pool
}

/** One process of a service. */
export interface Replica {
  pools: Pools
  /** It could not be reached: other replicas are preferred for a second. */
  backOff(): void
  /** Calls `giveUp` when the replica falls silent. The returned function ends the watch and is called when the exchange is over. */
  watchExchange(giveUp: () => void): () => void
  /** It answers health checks and could be reached lately. */
  isHealthy(): boolean
  startHealthChecks(): void
  /** Sends nothing more to it. Resolves when its open requests are answered or given up. */
  drain(): Promise<void>
  close(): Promise<void>
}

export interface ReplicaOptions {
  service: string
  origin: string
  /** The name that its certificate must have, when the origin is only an address. */
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
      // A new function for each exchange, in case two pass the same one.
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
          logger.warn({ upstream: service, replica: origin, exchanges: exchanges.size }, 'a silent replica is given up')
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

/** A pool looks through all its connections for each request, and finds them busy: with thousands of streams that takes long. */
function connectEachStream(origin: string, options: buildConnector.BuildOptions): Connections {
  // Shared, so that sessions of TLS are resumed.
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
      // It ends with its one request.
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
