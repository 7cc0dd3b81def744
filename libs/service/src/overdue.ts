import type { FastifyInstance } from 'fastify'

/**
 * A stopping app waits for the requests under way. One whose client never ends it, or never takes its answer, would be
 * waited for without end: what is left after `seconds` is cut off.
 */
export function cutOverdueRequests(app: FastifyInstance, seconds: number): void {
  app.addHook('preClose', async () => {
    setTimeout(() => app.server.closeAllConnections(), seconds * 1000).unref()
  })
}
