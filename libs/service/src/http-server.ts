import http from 'node:http'
import type { Socket } from 'node:net'
import { invalid } from '@parley/contract'
import type { FastifyInstance, FastifyServerFactory } from 'fastify'

/**
 * The HTTP server below an app. Fastify does not pass `reusePort` on to it, so it adds that itself. What Node would refuse
 * with an empty reply becomes a request, for `refuseOddRequests` to answer.
 */
export const createServer =
  (reusePort: boolean): FastifyServerFactory =>
  (handler) => {
    const options = { keepAliveTimeout: 72_000, requestTimeout: 120_000, noDelay: true, requireHostHeader: false }
    const server = http.createServer(options, handler)
    server.on('checkExpectation', handler)
    if (reusePort) {
      const listen = server.listen.bind(server) as (...args: unknown[]) => http.Server
      server.listen = ((options: object, ...rest: unknown[]) =>
        listen({ ...options, reusePort }, ...rest)) as typeof server.listen
    }
    return server
  }

/** Requests that HTTP/1.1 itself has refused: without a Host (RFC 9112, 3.2), or expecting what nobody offers. */
export function refuseOddRequests(app: FastifyInstance): void {
  app.addHook('onRequest', ({ headers: { host, expect }, raw }, _reply, done) => {
    if (raw.httpVersion !== '1.1') return done()
    if (host === undefined) return done(invalid('The request has no Host header'))
    if (expect !== undefined && !/^100-continue$/i.test(expect)) {
      return done(invalid('The server cannot do what the header Expect asks for'))
    }
    done()
  })
}

/** What Node's parser refuses never becomes a request: answered on the bare socket. */
export function refuseMalformedRequest(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const sentence = malformed[error.code ?? ''] ?? 'The request is not valid HTTP'
  const body = JSON.stringify({ error: sentence, code: 'invalid_request' })
  socket.end(
    `HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n` +
      `Connection: close\r\n\r\n${body}`,
  )
}

const malformed: Record<string, string> = {
  HPE_HEADER_OVERFLOW: 'The request headers are too large',
  ERR_HTTP_REQUEST_TIMEOUT: 'The request took too long to arrive',
}
