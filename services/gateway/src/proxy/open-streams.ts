import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import type { Config } from '@parley/config'
import { tooMany, unavailable } from '@parley/contract'
import { ClientLeft } from '@parley/service'
import type { FastifyInstance } from 'fastify'

const patienceMs = 500

/**
 * Keeps the open event streams, so that a gateway that stops can end them: each at a moment of its own within
 * `drainSeconds`, or all clients would come back at the same one.
 */
export function trackStreams(app: FastifyInstance, { drainSeconds, maxStreamsPerUser }: Config['events']) {
  const open = new Set<ServerResponse>()
  const counts = new Map<string, number>()
  let draining = false

  app.addHook('preClose', async () => {
    draining = true
    await Promise.all([...open].map(endWithin))
  })

  async function endWithin(stream: ServerResponse) {
    const closed = once(stream, 'close')
    await Promise.race([closed, delay(Math.random() * drainSeconds * 1000)])
    stream.end()
    // Who does not read what is sent does not read the end either.
    await Promise.race([closed, delay(patienceMs, undefined, { ref: false })])
    stream.destroy()
  }

  return {
    /**
     * Realtime counts what is open on its side; here it is the client's side, which may be open for longer.
     * @throws ApiError 503 once the gateway is stopping, 429 when this person has too many streams here; ClientLeft.
     */
    add(stream: ServerResponse, userId: string) {
      if (draining) throw unavailable()
      // It left while it was identified: its place would never be given back.
      if (stream.destroyed) throw new ClientLeft()
      const count = counts.get(userId) ?? 0
      if (count >= maxStreamsPerUser) throw tooMany('You have too many event streams open', 30)
      counts.set(userId, count + 1)
      open.add(stream)
      stream.once('close', () => {
        open.delete(stream)
        const left = counts.get(userId)! - 1
        if (left > 0) counts.set(userId, left)
        else counts.delete(userId)
      })
    },
  }
}
