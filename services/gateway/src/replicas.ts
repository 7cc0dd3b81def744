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
}

export interface Replicas {
  /** All of them, in the order in which one request should try them: round robin, resting and silent ones last. */
  inTurn(): Replica[]
  /** Asks each for a sign of life from now on. */
  watch(): void
  close(): Promise<void>
}

/** Keep-alive connections to every replica of a service. */
export function connectReplicas(service: string, urls: readonly string[], logger: Logger): Replicas {
  const replicas = urls.map((url) => {
    const { origin } = new URL(url)
    const connect = { timeout: connectMs }
    return {
      calls: new Pool(origin, { connect, connections: 128, keepAliveTimeout: 60_000 }),
      streams: new Pool(origin, { connect, connections: null, keepAliveTimeout: 5_000 }),
      origin,
      isAnswering: true,
      restsUntil: 0,
      exchanges: new Set<() => void>(),
      rest() {
        this.restsUntil = performance.now() + restMs
      },
      whileItAnswers(giveUp: () => void) {
        // One of its own for each exchange, should two share a function.
        const exchange = () => giveUp()
        this.exchanges.add(exchange)
        return () => void this.exchanges.delete(exchange)
      },
    }
  })
  const pulses: Pulse[] = []
  let turn = 0

  const watch = () => {
    for (const replica of replicas) {
      const { origin, exchanges } = replica
      const onChange = (isAnswering: boolean) => {
        replica.isAnswering = isAnswering
        if (isAnswering) logger.info({ upstream: service, replica: origin }, 'a replica answers again')
        else logger.warn({ upstream: service, replica: origin }, 'a replica gives no sign of life')
      }
      const onSilence = () => {
        if (exchanges.size === 0) return
        logger.warn({ upstream: service, replica: origin, exchanges: exchanges.size }, 'a silent replica is given up')
        for (const giveUp of [...exchanges]) giveUp()
      }
      pulses.push(feelPulse({ origin, onChange, onSilence }))
    }
  }

  return {
    watch,
    inTurn() {
      const now = performance.now()
      turn = (turn + 1) % replicas.length
      const order = [...replicas.slice(turn), ...replicas.slice(0, turn)]
      const isFit = ({ restsUntil, isAnswering }: (typeof replicas)[number]) => isAnswering && restsUntil <= now
      return [...order.filter(isFit), ...order.filter((replica) => !isFit(replica))]
    },
    async close() {
      await Promise.all(pulses.map((pulse) => pulse.stop()))
      await Promise.all(replicas.flatMap(({ calls, streams }) => [calls.destroy(), streams.destroy()]))
    },
  }
}
