import { Pool } from 'undici'

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
}

export interface Replicas {
  /** All of them, in the order in which one request should try them: round robin, resting ones last. */
  inTurn(): Replica[]
  close(): Promise<void>
}

/** Keep-alive connections to every replica of a service. */
export function connectReplicas(urls: readonly string[]): Replicas {
  const replicas = urls.map((url) => {
    const { origin } = new URL(url)
    const connect = { timeout: connectMs }
    return {
      calls: new Pool(origin, { connect, connections: 128, keepAliveTimeout: 60_000 }),
      streams: new Pool(origin, { connect, connections: null, keepAliveTimeout: 5_000 }),
      restsUntil: 0,
      rest() {
        this.restsUntil = performance.now() + restMs
      },
    }
  })
  let turn = 0

  return {
    inTurn() {
      const now = performance.now()
      turn = (turn + 1) % replicas.length
      const order = [...replicas.slice(turn), ...replicas.slice(0, turn)]
      return [
        ...order.filter(({ restsUntil }) => restsUntil <= now),
        ...order.filter(({ restsUntil }) => restsUntil > now),
      ]
    },
    async close() {
      await Promise.all(replicas.flatMap(({ calls, streams }) => [calls.destroy(), streams.destroy()]))
    },
  }
}
