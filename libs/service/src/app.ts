import { randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
import Fastify, { type FastifyBaseLogger, type FastifyInstance } from 'fastify'
import { normaliseForwardedAddresses, refuseForeignHosts } from './client-origin.ts'
import { compressResponses } from './compression.ts'
import type { Deps } from './deps.ts'
import { type Checks, serveHealth } from './health.ts'
import {
  acceptCarriers,
  createServer,
  cutOverdueRequests,
  dropTraceHeaders,
  refuseInvalidRequests,
  refuseOnSocket,
} from './http-server.ts'
import { identifyCallers } from './identify.ts'
import { limitOpenFiles } from './open-files.ts'
import { describeApi, serveOpenApi } from './openapi.ts'
import { createAccessLog, measureRequests } from './request-telemetry.ts'
import { LogClientsThatLeft, preventCaching, renderRefusals, sendRefusal } from './responses.ts'
import { endSlowClients } from './slow-clients.ts'
import { compileValidator, readBodies } from './validation.ts'
import { routableUrl } from './web-pages.ts'

export interface AppOptions {
  deps: Deps
  /** The dependencies of readiness, by name. */
  checks: Checks
  /**
   * `edge`: clients reach the app. The client address is that of the socket, unless a trusted proxy names another.
   * `inside`: only the gateway reaches the app, and its headers name the client address and the request id.
   */
  position: 'edge' | 'inside'
  /**
   * Registers the hooks that run before the caller is identified, such as CORS and the rate limit of the gateway.
   * Returns the headers that every response has.
   */
  edge?: (app: FastifyInstance) => Promise<Record<string, string>>
  /** False for an app that records no events itself, because it only forwards requests. */
  recordsEvents?: boolean
  /** Open files that one event stream needs; undefined when the app has no event streams. */
  filesPerStream?: number | undefined
}

export interface App {
  fastify: FastifyInstance
  /** Makes the app report that it is not ready. */
  drain(): void
}

/** Builds a Fastify app with the parts that all services share: identity, validation, refusals, health, metrics, OpenAPI. */
export async function buildApp(options: AppOptions): Promise<App> {
  const { deps, checks, position, edge, filesPerStream, recordsEvents = true } = options
  const { config, logger } = deps
  let draining = false
  const logAccess = position === 'edge' && config.log.access ? createAccessLog(logger) : undefined
  let constantHeaders: Record<string, string> = {}
  const fastify: FastifyInstance = Fastify({
    loggerInstance: logger as FastifyBaseLogger,
    logController: new LogClientsThatLeft(),
    // Log lines add the request's id themselves, because a logger for each request costs more than its routing.
    childLoggerFactory: (parent) => parent,
    genReqId: () => randomUUID(),
    requestIdHeader: position === 'inside' ? 'x-request-id' : false,
    trustProxy: position === 'inside' ? true : [...config.server.trustedProxies],
    bodyLimit: config.server.bodyLimitBytes,
    // The length of the longest URL, so that an id of any length gets a 404.
    routerOptions: { maxParamLength: 16_384 },
    exposeHeadRoutes: true,
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    rewriteUrl: routableUrl,
    frameworkErrors(error, request, reply) {
      logAccess?.(request, reply)
      // Hooks do not run for these errors.
      reply.headers({ ...constantHeaders, 'x-request-id': request.id, 'cache-control': 'no-store' })
      return sendRefusal(error, request, reply)
    },
    clientErrorHandler: (error, socket) => refuseOnSocket(constantHeaders, error, socket as Socket),
    serverFactory: createServer(config.server.reusePort),
  })
  const { continueTraces } = config.server
  if (continueTraces === 'never' || (continueTraces === 'inside' && position === 'edge'))
    dropTraceHeaders(fastify.server)
  fastify.setValidatorCompiler(compileValidator)
  renderRefusals(fastify)
  preventCaching(fastify)
  compressResponses(fastify)
  if (position === 'edge') normaliseForwardedAddresses(fastify)
  if (logAccess) {
    fastify.addHook('onRequest', (request, reply, done) => {
      logAccess(request, reply)
      done()
    })
  }
  if (edge) constantHeaders = await edge(fastify)
  refuseInvalidRequests(fastify)
  if (position === 'inside') refuseForeignHosts(fastify, config)
  readBodies(fastify)
  identifyCallers(fastify, deps)
  if (position === 'edge') endSlowClients(fastify, config.server, deps.metrics)
  measureRequests(fastify, deps.metrics)
  if (recordsEvents) hintRelay(fastify, deps.wakeRelay)
  limitOpenFiles(fastify.server, deps, { filesPerStream })
  // This limit ends before the time limit of the process, so that the rest of the shutdown can finish.
  cutOverdueRequests(fastify, config.server.shutdownSeconds / 2)
  await describeApi(fastify)
  if (position === 'inside') serveOpenApi(fastify)
  if (position === 'inside') acceptCarriers(fastify)
  serveHealth(fastify, { checks, logger, isDraining: () => draining })
  return {
    fastify,
    drain() {
      draining = true
    },
  }
}

/** Wakes the relay after each request that may have recorded an event, so that it need not wait for its next poll. */
function hintRelay(app: FastifyInstance, wakeRelay: () => void) {
  app.addHook('onResponse', ({ method, routeOptions }, { statusCode }, done) => {
    // Routes with access `token` send messages, and wake the relay themselves after their commit.
    if (method !== 'GET' && method !== 'HEAD' && statusCode < 400 && routeOptions.config.access !== 'token') wakeRelay()
    done()
  })
}
