import { randomUUID } from 'node:crypto'
import http from 'node:http'
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyServerFactory,
  LogController,
} from 'fastify'
import { readBodies } from './bodies.ts'
import type { Deps } from './deps.ts'
import { answerHealth, type Checks } from './health.ts'
import { identifyCallers } from './identify.ts'
import { measureRequests } from './measure.ts'
import { answerOpenApi, describeApi } from './openapi.ts'
import { cutOverdueRequests } from './overdue.ts'
import { renderRefusals, sendRefusal } from './refusals.ts'
import { compileValidator } from './validation.ts'

export interface AppOptions {
  deps: Deps
  /** What readiness depends on, by name. */
  checks: Checks
  /**
   * Where the app stands. `edge`: clients reach it, the client address is the socket's unless a trusted proxy says
   * otherwise. `inside`: only the gateway reaches it, which has written the client address and the request id.
   */
  position: 'edge' | 'inside'
  /** Registers what comes before anybody is identified: the gateway's CORS, rate limit and the like. */
  front?: (app: FastifyInstance) => Promise<void>
}

export interface App {
  fastify: FastifyInstance
  /** Readiness says no from now on. */
  drain(): void
}

/** A Fastify app with what all services share: identity, validation, refusals, health, metrics, OpenAPI. */
export async function buildApp({ deps, checks, position, front }: AppOptions): Promise<App> {
  const { config, logger } = deps
  let draining = false
  const fastify: FastifyInstance = Fastify({
    loggerInstance: logger as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true }),
    // Refusals log the request's id themselves; a logger for each request would cost more than its routing.
    childLoggerFactory: (parent) => parent,
    genReqId: () => randomUUID(),
    requestIdHeader: position === 'inside' ? 'x-request-id' : false,
    trustProxy: position === 'inside' ? true : [...config.server.trustedProxies],
    bodyLimit: config.server.bodyLimitBytes,
    routerOptions: { maxParamLength: 1_000 },
    exposeHeadRoutes: false,
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    frameworkErrors: sendRefusal,
    clientErrorHandler: refuseMalformedRequest,
    serverFactory: createServer(config.server.reusePort),
  })
  fastify.setValidatorCompiler(compileValidator)
  renderRefusals(fastify)
  await front?.(fastify)
  readBodies(fastify)
  identifyCallers(fastify, deps)
  measureRequests(fastify, deps.metrics)
  hintRelay(fastify, deps.wakeRelay)
  // Before the process is at the end of its own patience, so that the rest of its stop is in order.
  cutOverdueRequests(fastify, config.server.shutdownSeconds / 2)
  await describeApi(fastify)
  if (position === 'inside') answerOpenApi(fastify)
  answerHealth(fastify, checks, () => draining)
  return {
    fastify,
    drain() {
      draining = true
    },
  }
}

/** Whatever changed something may have recorded an event: the relay need not wait for its next look. */
function hintRelay(app: FastifyInstance, wakeRelay: () => void) {
  app.addHook('onResponse', ({ method, routeOptions }, { statusCode }, done) => {
    // A route that checks the session by itself is one that sends, and has told the relay when it committed.
    if (method !== 'GET' && statusCode < 400 && routeOptions.config.access !== 'token') wakeRelay()
    done()
  })
}

/** Fastify does not pass `reusePort` on to the server, so the server adds it. */
const createServer =
  (reusePort: boolean): FastifyServerFactory =>
  (handler) => {
    const server = http.createServer({ keepAliveTimeout: 72_000, requestTimeout: 120_000, noDelay: true }, handler)
    if (reusePort) {
      const listen = server.listen.bind(server) as (...args: unknown[]) => http.Server
      server.listen = ((options: object, ...rest: unknown[]) =>
        listen({ ...options, reusePort }, ...rest)) as typeof server.listen
    }
    return server
  }

/** What Node's parser refuses never becomes a request: answered on the bare socket. */
function refuseMalformedRequest(error: NodeJS.ErrnoException, socket: import('node:net').Socket) {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const tooLong = error.code === 'HPE_HEADER_OVERFLOW'
  const body = JSON.stringify({
    error: tooLong ? 'The request headers are too large' : 'The request is not valid HTTP',
    code: 'invalid_request',
  })
  socket.end(
    `HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n` +
      `Connection: close\r\n\r\n${body}`,
  )
}
