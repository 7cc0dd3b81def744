import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { unavailable } from '@parley/contract'
import type { FastifyInstance } from 'fastify'

const patienceMs = 500

/**
 * Keeps the open event streams, so that a gateway that stops can end them: each at a moment of its own within
 * `drainSeconds`, or all clients would come back at the same one.
 */
export function trackStreams(app: FastifyInstance, drainSeconds: number) {
  const open = new Set<ServerResponse>()
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
    /** @throws ApiError 503 once the gateway is stopping. */
    add(stream: ServerResponse) {
      if (draining) throw unavailable()
      open.add(stream)
      stream.once('close', () => open.delete(stream))
    },
  }
}
