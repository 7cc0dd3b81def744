import http from 'node:http'
import type { Socket } from 'node:net'
import { ApiError, invalid } from '@parley/contract'
import { type Carrier, carryConnections, protocol } from '@parley/multiplex'
import type { FastifyInstance, FastifyServerFactory } from 'fastify'

/** Time that a client has to read a refusal before its connection is closed. */
const closeAfterMs = 5_000

/**
 * The HTTP server of an app, with `reusePort`, which Fastify does not pass on. Requests that Node would refuse with an
 * empty response reach the app, where `refuseInvalidRequests` responds to them.
 */
export const createServer =
  (reusePort: boolean): FastifyServerFactory =>
  (handler) => {
    const options = {
      keepAliveTimeout: 72_000,
      requestTimeout: 120_000,
      noDelay: true,
      requireHostHeader: false,
      // Any other request with that header is answered as if it had none.
      shouldUpgradeCallback: ({ headers }: http.IncomingMessage) =>
        headers.upgrade === protocol && server.listenerCount('upgrade') > 0,
    }
    const server: http.Server = http.createServer(options, handler)
    server.on('checkExpectation', handler)
    if (reusePort) {
      const listen = server.listen.bind(server) as (...args: unknown[]) => http.Server
      server.listen = ((options: object, ...rest: unknown[]) =>
        listen({ ...options, reusePort }, ...rest)) as typeof server.listen
    }
    return server
  }

/**
 * Accepts carriers from the gateway, so that the requests and responses of one turn of the event loop share a read and a write.
 * A stopping app refuses new connections on them: the gateway then connects to another replica.
 */
export function acceptCarriers(app: FastifyInstance): void {
  const { server } = app
  const carriers = new Set<Carrier>()
  server.on('upgrade', (_request, socket: Socket) => {
    socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n\r\n`)
    const carrier = carryConnections(socket, (connection) => server.emit('connection', connection))
    carriers.add(carrier)
    socket.once('close', () => carriers.delete(carrier))
  })
  app.addHook('preClose', async () => {
    for (const carrier of carriers) carrier.refuseNew()
  })
}

const requestEvents: ReadonlySet<unknown> = new Set([
  'request',
  'checkContinue',
  'checkExpectation',
  'upgrade',
  'connect',
])
const traceHeaders = ['traceparent', 'tracestate', 'baggage']

/**
 * Removes the trace headers of each request. This happens in the server itself, because the instrumentation reads these headers before
 * any hook runs.
 */
export function dropTraceHeaders(server: http.Server): void {
  const emit = server.emit.bind(server) as (event: unknown, ...args: unknown[]) => boolean
  server.emit = ((event: unknown, ...args: unknown[]) => {
    if (requestEvents.has(event))
      for (const name of traceHeaders) delete (args[0] as http.IncomingMessage).headers[name]
    return emit(event, ...args)
  }) as typeof server.emit
}

/**
 * Refuses requests that HTTP/1.1 does not allow (RFC 9112, 3.2 and 6.1): without a Host or with two of them, with an unknown transfer
 * coding, or with an unknown expectation. The first three end the connection, because a proxy in front may have read them differently.
 * Compressed bodies are refused too, because no route decompresses them.
 */
export function refuseInvalidRequests(app: FastifyInstance): void {
  app.addHook('onRequest', ({ raw }, reply, done) => {
    const ambiguity = ambiguityOf(raw)
    if (ambiguity !== undefined) {
      reply.header('connection', 'close')
      return done(invalid(ambiguity))
    }
    const { expect } = raw.headers
    if (expect !== undefined && raw.httpVersion === '1.1' && !/^100-continue$/i.test(expect)) {
      return done(invalid('The server does not support the value of the header Expect'))
    }
    if (compression.test(raw.headers['content-encoding'] ?? '')) {
      // RFC 9110, 15.5.16.
      reply.header('accept-encoding', 'identity')
      return done(bodyCompressed())
    }
    done()
  })
}

/** Other values of the header, such as `utf-8`, which some programs send by mistake, change nothing in the body. */
const compression = /\b(?:gzip|deflate|br|zstd|compress)\b/i

/** 415: the body is compressed. */
const bodyCompressed = () =>
  new ApiError(415, 'body_compressed', 'Please send the body without compression, and without Content-Encoding')

/** The reason why two programs may read this request differently; undefined for an ordinary request. */
export function ambiguityOf({ headers, rawHeaders, httpVersion }: http.IncomingMessage): string | undefined {
  const encoding = headers['transfer-encoding']
  if (encoding !== undefined && encoding.toLowerCase() !== 'chunked') {
    return 'The header Transfer-Encoding may only be chunked'
  }
  if (headers.host === undefined) return httpVersion === '1.1' ? 'The request has no Host header' : undefined
  return countHosts(rawHeaders) > 1 ? 'The request has more than one Host header' : undefined
}

function countHosts(rawHeaders: string[]): number {
  let count = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!
    if (name.length === 4 && name.toLowerCase() === 'host') count++
  }
  return count
}

/**
 * Closes all connections `seconds` after the app began to stop. A stopping app waits for its open requests, and a
 * request would last forever whose client never ends it or never reads the response.
 */
export function cutOverdueRequests(app: FastifyInstance, seconds: number): void {
  app.addHook('preClose', async () => {
    setTimeout(() => app.server.closeAllConnections(), seconds * 1000).unref()
  })
}

/**
 * Responds directly on the socket to requests that Node's parser refuses or that arrive too slowly. The response has these
 * headers.
 */
export function refuseOnSocket(headers: Record<string, string>, error: NodeJS.ErrnoException, socket: Socket): void {
  // When a response has begun, another one must not follow.
  const { _httpMessage: begun } = socket as Socket & { _httpMessage?: http.ServerResponse | null }
  if (error.code === 'ECONNRESET' || !socket.writable || begun?.headersSent) {
    socket.destroy()
    return
  }
  const { status, sentence, code } = socketRefusals[error.code ?? ''] ?? notHttp
  const body = JSON.stringify({ error: sentence, code })
  const head = {
    ...headers,
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
  }
  const lines = Object.entries(head).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${status} ${http.STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`)
  setTimeout(() => socket.destroy(), closeAfterMs).unref()
}

const notHttp = { status: 400, sentence: 'The request is not valid HTTP', code: 'invalid_request' }
const socketRefusals: Record<string, typeof notHttp> = {
  HPE_HEADER_OVERFLOW: { ...notHttp, sentence: 'The request headers are too large' },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, sentence: 'The request took too long to arrive', code: 'request_timeout' },
}
