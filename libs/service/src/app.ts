import { randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
import Fastify, { type FastifyBaseLogger, type FastifyInstance } from 'fastify'
import { createAccessLog } from './access-log.ts'
import { readBodies } from './bodies.ts'
import { tidyForwardedAddresses } from './client-address.ts'
import { LogClientsThatLeft } from './client-left.ts'
import type { Deps } from './deps.ts'
import { answerHealth, type Checks } from './health.ts'
import { createServer, ignoreSentTraces, refuseOddRequests, refuseOnSocket } from './http-server.ts'
import { identifyCallers } from './identify.ts'
import { refuseForeignHosts } from './local-only.ts'
import { measureRequests } from './measure.ts'
import { limitOpenFiles } from './open-files.ts'
import { answerOpenApi, describeApi } from './openapi.ts'
import { cutOverdueRequests } from './overdue.ts'
import { keepAnswersPrivate } from './private-answers.ts'
import { renderRefusals, sendRefusal } from './refusals.ts'
import { endSlowClients } from './slow-clients.ts'
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
  /**
   * Registers what runs before the caller is identified: the gateway's CORS, rate limit and so on. Answers the headers that every
   * reply has.
   */
  edge?: (app: FastifyInstance) => Promise<Record<string, string>>
  /** Open files that one event stream takes here; nothing where there are none. */
  filesPerStream?: number | undefined
}

export interface App {
  fastify: FastifyInstance
  /** Readiness says no from now on. */
  drain(): void
}

/** A Fastify app with what all services share: identity, validation, refusals, health, metrics, OpenAPI. */
export async function buildApp({ deps, checks, position, edge, filesPerStream }: AppOptions): Promise<App> {
  const { config, logger } = deps
  let draining = false
  const watch = position === 'edge' && config.log.access ? createAccessLog(logger) : undefined
  let constantHeaders: Record<string, string> = {}
  const fastify: FastifyInstance = Fastify({
    loggerInstance: logger as FastifyBaseLogger,
    logController: new LogClientsThatLeft(),
    // Refusals log the request's id themselves; a logger for each request would cost more than its routing.
    childLoggerFactory: (parent) => parent,
    genReqId: () => randomUUID(),
    requestIdHeader: position === 'inside' ? 'x-request-id' : false,
    trustProxy: position === 'inside' ? true : [...config.server.trustedProxies],
    bodyLimit: config.server.bodyLimitBytes,
    // As long as a URL can be: an id of any length is simply unknown.
    routerOptions: { maxParamLength: 16_384 },
    exposeHeadRoutes: true,
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    frameworkErrors(error, request, reply) {
      watch?.(request, reply)
      // No hook runs for these.
      reply.headers({ ...constantHeaders, 'x-request-id': request.id, 'cache-control': 'no-store' })
      return sendRefusal(error, request, reply)
    },
    clientErrorHandler: (error, socket) => refuseOnSocket(constantHeaders, error, socket as Socket),
    serverFactory: createServer(config.server.reusePort),
  })
  const { continueTraces } = config.server
  if (continueTraces === 'never' || (continueTraces === 'inside' && position === 'edge'))
    ignoreSentTraces(fastify.server)
  fastify.setValidatorCompiler(compileValidator)
  renderRefusals(fastify)
  keepAnswersPrivate(fastify)
  if (position === 'edge') tidyForwardedAddresses(fastify)
  if (watch) {
    fastify.addHook('onRequest', (request, reply, done) => {
      watch(request, reply)
      done()
    })
  }
  if (edge) constantHeaders = await edge(fastify)
  refuseOddRequests(fastify)
  if (position === 'inside') refuseForeignHosts(fastify, config)
  readBodies(fastify)
  identifyCallers(fastify, deps)
  if (position === 'edge') endSlowClients(fastify, config.server, deps.metrics)
  measureRequests(fastify, deps.metrics)
  hintRelay(fastify, deps.wakeRelay)
  limitOpenFiles(fastify.server, deps, { filesPerStream })
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
    if (method !== 'GET' && method !== 'HEAD' && statusCode < 400 && routeOptions.config.access !== 'token') wakeRelay()
    done()
  })
}
