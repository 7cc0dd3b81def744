import cors from '@fastify/cors'
import helmet from '@fastify/helmet'
import type { Config } from '@parley/config'
import { forbidden } from '@parley/contract'
import { type Deps, isLocalOnly, refuseForeignHosts } from '@parley/service'
import Fastify, { type FastifyInstance } from 'fastify'
import type { Redis } from 'ioredis'
import { limitRates } from './rate-limit.ts'
import { limitTransfers } from './transfers.ts'

/**
 * Adds the hooks for requests from outside. They run before the caller is identified and the body is read. Returns the
 * headers of every response.
 */
export const createEdge = (deps: Deps, redis: Redis) => async (app: FastifyInstance) => {
  const constant = await findSecurityHeaders()
  app.addHook('onRequest', ({ id }, reply, done) => {
    reply.headers(constant).header('x-request-id', id)
    done()
  })
  refuseOtherMachines(app, deps.config)
  await app.register(cors, {
    origin: [...deps.config.server.allowedOrigins],
    methods: ['GET', 'HEAD', 'POST', 'PUT', 'DELETE'],
    allowedHeaders: [
      'Authorization',
      'Content-Type',
      'Idempotency-Key',
      'Last-Event-ID',
      'Range',
      'If-Range',
      'If-None-Match',
    ],
    exposedHeaders: ['Retry-After', 'X-Request-Id', 'Content-Disposition', 'Content-Range', 'ETag'],
    credentials: false,
    strictPreflight: false,
    maxAge: 600,
  })
  if (deps.config.rateLimit.enabled) await limitRates(app, deps, redis)
  limitTransfers(app, deps.config)
  return constant
}

/**
 * In dev mode only this machine may call the server. A forwarding header means that a proxy forwards requests of other
 * machines.
 */
function refuseOtherMachines(app: FastifyInstance, config: Pick<Config, 'auth'>): void {
  refuseForeignHosts(app, config)
  if (!isLocalOnly(config)) return
  app.addHook('onRequest', async ({ headers }) => {
    const isForwarded = 'forwarded' in headers || Object.keys(headers).some((name) => name.startsWith('x-forwarded-'))
    if (isForwarded) throw forbidden('In dev mode the server refuses requests that a proxy has forwarded')
  })
}

/** The headers that helmet sets. They are the same for every response, so they are read from the response of a temporary app. */
async function findSecurityHeaders() {
  const probe = Fastify()
  await probe.register(helmet, securityHeaders)
  probe.get('/', async () => 'anything')
  const { headers } = await probe.inject('/')
  await probe.close()
  const constant = Object.entries(headers).filter(([name]) => !ordinaryHeaders.has(name))
  return Object.fromEntries(constant.map(([name, value]) => [name, String(value)]))
}

const ordinaryHeaders = new Set(['content-type', 'content-length', 'date', 'connection'])

// Responses are data, so nothing in them may be executed or framed. The documentation page sets a policy of its own.
const securityHeaders = {
  contentSecurityPolicy: {
    useDefaults: false,
    directives: { 'default-src': ["'none'"], 'frame-ancestors': ["'none'"], 'base-uri': ["'none'"] },
  },
  // Subdomains are not included, because some of the operator's may not support https.
  strictTransportSecurity: { maxAge: 15_552_000, includeSubDomains: false },
  referrerPolicy: { policy: 'no-referrer' as const },
}
