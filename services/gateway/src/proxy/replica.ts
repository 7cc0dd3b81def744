import type { Logger } from '@parley/telemetry'
import { Pool } from 'undici'
import { feelPulse, type Pulse } from './health-check.ts'

const connectMs = 2_000
const restMs = 1_000

/** What lasts long has connections of its own, so that it holds up nothing else. */
export interface Pools {
  /** Requests and their replies: no client can hold them up. */
  calls: Pool
  uploads: Pool
  downloads: Pool
  /** Event streams: each holds its connection, so there is no bound. */
  streams: Pool
  /** What the gateway itself asks: whether it is ready, how its routes are described. */
  questions: Pool
}

/** One process of a service. */
export interface Replica {
  pools: Pools
  /** It could not be reached: the others come first for a second. */
  rest(): void
  /** Calls `giveUp` when it falls silent, until told that the exchange is over. */
  whileItAnswers(giveUp: () => void): () => void
  /** Neither resting nor silent. */
  isFit(): boolean
  /** Asks it for a sign of life from now on. */
  watch(): void
  /** Gets nothing more; resolves when what it was asked is answered, or given up. */
  leave(): Promise<void>
  close(): Promise<void>
}

export interface ReplicaOptions {
  service: string
  /** Where it is. */
  origin: string
  /** The name a certificate must be for, where the origin is only its address. */
  host?: string | undefined
  logger: Logger
}

/** Keep-alive connections to one replica. */
export function connectReplica({ service, origin, host, logger }: ReplicaOptions): Replica {
  const connect = { timeout: connectMs, ...(host !== undefined && { servername: host }) }
  const open = (connections: number | null, keepAliveTimeout: number) =>
    new Pool(origin, { connect, connections, keepAliveTimeout })
  const pools: Pools = {
    calls: open(128, 60_000),
    uploads: open(128, 10_000),
    downloads: open(256, 10_000),
    streams: open(null, 5_000),
    questions: open(4, 10_000),
  }
  const allPools = Object.values<Pool>(pools as unknown as Record<string, Pool>)
  const exchanges = new Set<() => void>()
  let isAnswering = true
  let restsUntil = 0
  let pulse: Pulse | undefined

  return {
    pools,
    rest() {
      restsUntil = performance.now() + restMs
    },
    whileItAnswers(giveUp) {
      // One of its own for each exchange, should two share a function.
      const exchange = () => giveUp()
      exchanges.add(exchange)
      return () => void exchanges.delete(exchange)
    },
    isFit: () => isAnswering && restsUntil <= performance.now(),
    watch() {
      pulse = feelPulse({
        origin,
        host,
        onChange(answers) {
          isAnswering = answers
          if (answers) logger.info({ upstream: service, replica: origin }, 'a replica answers again')
          else logger.warn({ upstream: service, replica: origin }, 'a replica gives no sign of life')
        },
        onSilence() {
          if (exchanges.size === 0) return
          logger.warn({ upstream: service, replica: origin, exchanges: exchanges.size }, 'a silent replica is given up')
          for (const giveUp of [...exchanges]) giveUp()
        },
      })
    },
    async leave() {
      await Promise.all(allPools.map((pool) => pool.close()))
      await pulse?.stop()
    },
    async close() {
      await pulse?.stop()
      await Promise.all(allPools.map((pool) => pool.destroy()))
    },
  }
}
