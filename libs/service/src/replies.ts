import type { FastifyInstance, FastifyReply } from 'fastify'

/**
 * Keeps replies out of caches: almost every reply is for one caller, and people share browsers and proxies. A route whose reply may be
 * cached sets `Cache-Control` itself; files and images do, with an ETag.
 */
export function preventCaching(app: FastifyInstance): void {
  app.addHook('onSend', (_request, reply, payload, done) => {
    if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'no-store')
    done(null, payload)
  })
}

/** Sends text that is JSON already, without the serializer. The caller is responsible for its having exactly the fields of the schema. */
export function sendJsonText(reply: FastifyReply, text: string): never {
  return reply.type('application/json; charset=utf-8').send(text) as never
}
