import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import type { Config } from '@parley/config'
import { tooMany, unavailable } from '@parley/contract'
import { ClientLeft } from '@parley/service'
import type { FastifyInstance } from 'fastify'

/** Time that a client has to read the end of its stream before its connection is closed. */
const closeAfterMs = 500

/**
 * Tracks the open event streams, so that a stopping gateway can end them. Each ends at a random moment within
 * `drainSeconds`, so that the clients do not all reconnect at once.
 */
export function trackEventStreams(app: FastifyInstance, { drainSeconds, maxStreamsPerUser }: Config['events']) {
  const open = new Set<ServerResponse>()
  const counts = new Map<string, number>()
  let draining = false

  app.addHook('preClose', async () => {
    draining = true
    await Promise.all([...open].map(endAtRandom))
  })

  async function endAtRandom(stream: ServerResponse) {
    const closed = once(stream, 'close')
    await Promise.race([closed, delay(Math.random() * drainSeconds * 1000)])
    stream.end()
    // A client that never reads its socket would never see the end.
    await Promise.race([closed, delay(closeAfterMs, undefined, { ref: false })])
    stream.destroy()
  }

  return {
    /**
     * Counts a stream of a client (see `clientOf`). Realtime also counts, but the client's side of a stream may stay
     * open for longer than realtime's side.
     * @throws ApiError 503 once the gateway is stopping, 429 when this person has too many streams here; ClientLeft.
     */
    add(stream: ServerResponse, client: string) {
      if (draining) throw unavailable()
      // The client left while it was identified. Its close event was emitted already and could not free its slot.
      if (stream.destroyed) throw new ClientLeft()
      const count = counts.get(client) ?? 0
      if (count >= maxStreamsPerUser) throw tooMany('You have too many event streams open', 30)
      counts.set(client, count + 1)
      open.add(stream)
      stream.once('close', () => {
        open.delete(stream)
        const left = counts.get(client)! - 1
        if (left > 0) counts.set(client, left)
        else counts.delete(client)
      })
    },
  }
}
