import type { Logger } from '@parley/telemetry'
import { Pool } from 'undici'
import { feelPulse, type Pulse } from './pulse.ts'

const connectMs = 2_000
const restMs = 1_000

/** One process of a service. */
export interface Replica {
  /** Requests and their replies. */
  calls: Pool
  /** Event streams: each holds its connection, so they have a pool without a bound. */
  streams: Pool
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
  const calls = new Pool(origin, { connect, connections: 128, keepAliveTimeout: 60_000 })
  const streams = new Pool(origin, { connect, connections: null, keepAliveTimeout: 5_000 })
  const exchanges = new Set<() => void>()
  let isAnswering = true
  let restsUntil = 0
  let pulse: Pulse | undefined

  return {
    calls,
    streams,
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
      await Promise.all([calls.close(), streams.close()])
      await pulse?.stop()
    },
    async close() {
      await pulse?.stop()
      await Promise.all([calls.destroy(), streams.destroy()])
    },
  }
}
