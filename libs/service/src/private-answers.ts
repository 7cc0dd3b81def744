import type { FastifyInstance } from 'fastify'

/**
 * No cache keeps an answer, unless its route says otherwise: almost every answer is for one caller, and people share browsers and
 * proxies. A route that may be kept sets `Cache-Control` itself; files and images do, with an ETag.
 */
export function keepAnswersPrivate(app: FastifyInstance): void {
  app.addHook('onSend', (_request, reply, payload, done) => {
    if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'no-store')
    done(null, payload)
  })
}
