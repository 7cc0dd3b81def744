import type { Logger } from '@parley/telemetry'
import type { FastifyReply, FastifyRequest } from 'fastify'

const userAgentLength = 300

/**
 * Writes one line for a request when its reply has ended or its client has left; an event stream has its line at its end. The query is
 * left out, since it carries tokens and what people search for, and so are all headers but the user agent. The line has the client's
 * address: what other lines say about the same `requestId` can be traced to it. It appears whatever `log.level` is.
 */
export function createAccessLog(logger: Logger) {
  const lines = logger.child({}, { level: 'info' })

  return function watch(request: FastifyRequest, { raw }: FastifyReply): void {
    const begun = performance.now()
    const { socket } = request.raw
    const sentBefore = socket.bytesWritten
    raw.once('close', () => {
      lines.info(
        {
          requestId: request.id,
          method: request.method,
          path: request.url.split('?', 1)[0],
          route: request.routeOptions?.url,
          // Without one the client left before there was a reply.
          status: raw.headersSent ? raw.statusCode : undefined,
          isComplete: raw.writableFinished,
          durationMs: Math.round(performance.now() - begun),
          bytesSent: socket.bytesWritten - sentBefore,
          clientAddress: request.ip,
          userId: request.claims?.userId,
          userAgent: request.headers['user-agent']?.slice(0, userAgentLength),
        },
        'request',
      )
    })
  }
}
