import cors from '@fastify/cors'
import helmet from '@fastify/helmet'
import type { Deps } from '@parley/service'
import Fastify, { type FastifyInstance } from 'fastify'
import type { Redis } from 'ioredis'
import { refuseStrangers } from './local-only.ts'
import { limitRates } from './rate-limit.ts'
import { boundTransfers } from './transfers.ts'

/** What every request from outside meets first, before anybody is identified or a body is read. */
export const createFront = (deps: Deps, redis: Redis) => async (app: FastifyInstance) => {
  const constant = await findSecurityHeaders()
  app.addHook('onRequest', ({ id }, reply, done) => {
    reply.headers(constant).header('x-request-id', id)
    done()
  })
  refuseStrangers(app, deps.config)
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
  boundTransfers(app, deps.config)
  return constant
}

/** What helmet answers is the same for every reply: it is asked once, by a request of our own. */
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

// Replies are data: nothing in them may run or be framed. A page (the documentation) brings a policy of its own.
const securityHeaders = {
  contentSecurityPolicy: {
    useDefaults: false,
    directives: { 'default-src': ["'none'"], 'frame-ancestors': ["'none'"], 'base-uri': ["'none'"] },
  },
  // Whether its subdomains speak https is not ours to say.
  strictTransportSecurity: { maxAge: 15_552_000, includeSubDomains: false },
  referrerPolicy: { policy: 'no-referrer' as const },
}
