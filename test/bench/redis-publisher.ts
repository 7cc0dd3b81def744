import { setImmediate as turnOfTheLoop } from 'node:timers/promises'
import { redisNames } from '@parley/redis'
import { Redis } from 'ioredis'
import type { Scene } from './scene.ts'
import type { Stores } from './stores.ts'

/** Events kept in the Redis Stream. */
const replayEvents = 10_000

interface Publisher {
  /**
   * Publishes the JSON of an event for every stream, or for the streams that `routing` (JSON too) names. Resolves when
   * Redis has accepted it.
   */
  publish(event: string, routing?: string): Promise<void>
}

/**
 * Stands in for the relay, without an outbox: assigns positions in PostgreSQL, appends to the Redis Stream and
 * publishes. Events that arrive while one batch is being published go out together in the next one, as with the relay.
 */
export async function openPublisher(scene: Scene, { database: { pool }, redisUrl }: Stores): Promise<Publisher> {
  const redis = await scene.keep(
    () => new Redis(redisUrl),
    (opened) => opened.disconnect(),
  )
  const connection = await scene.keep(
    () => pool.connect(),
    (client) => client.release(),
  )
  // These positions may be lost in a crash: they belong to no stored data.
  await connection.query('set synchronous_commit = off')
  const { rows } = await connection.query<{ epoch: string; pos: number }>('select epoch, pos from relay_lease')
  const { epoch } = rows[0]!
  let { pos } = rows[0]!
  let waiting: Waiting[] = []
  let working = false

  async function work() {
    working = true
    await turnOfTheLoop()
    while (waiting.length > 0) {
      const some = waiting
      waiting = []
      const sent = send(some)
      await sent.then(
        () => some.forEach(({ resolve }) => void resolve()),
        (error) => some.forEach(({ reject }) => void reject(error)),
      )
    }
    working = false
  }

  /**
   * The stream is written before PostgreSQL, so a node that looks in between finds every position that PostgreSQL has
   * in the stream.
   */
  async function send(events: Waiting[]) {
    const first = pos + 1
    pos += events.length
    const lines = events.map(({ event, routing }) => `${routing}\t\t${event}`).join('\n')
    const batch = `${epoch} ${first} ${events.length}\n${lines}`
    await redis.xadd(redisNames().stream(epoch), 'MAXLEN', '~', replayEvents, `${pos}-0`, 'e', batch)
    await connection.query({ name: 'advance', text: 'update relay_lease set pos = $1', values: [pos] })
    await redis.publish(redisNames().events, batch)
  }

  return {
    publish: (event, routing = '{"to":"everyone"}') =>
      new Promise((resolve, reject) => {
        waiting.push({ event, routing, resolve, reject })
        if (!working) void work()
      }),
  }
}

interface Waiting {
  event: string
  routing: string
  resolve: () => void
  reject: (error: unknown) => void
}
