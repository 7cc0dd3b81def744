import rateLimit, { normalizeIP } from '@fastify/rate-limit'
import { tooMany } from '@parley/contract'
import { openRedis, redisNames } from '@parley/redis'
import { bearerToken, type Deps } from '@parley/service'
import { metric } from '@parley/telemetry'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Redis } from 'ioredis'

const windowMs = 60_000
const patienceMs = 200
const restMs = 1_000
const endedSessions = 100_000

/** A connection whose commands fail soon: a request does not wait for a Redis that is away. */
export function connectRateLimitRedis({ config, logger }: Deps): Redis {
  const redis = openRedis(config.redis, {
    connectionName: 'parley-gateway',
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    connectTimeout: 2_000,
    commandTimeout: patienceMs,
    retryStrategy: (attempt) => Math.min(100 * attempt, 2_000),
  })
  redis.on('error', (err) => logger.debug({ err }, 'the rate limit has lost Redis'))
  return redis
}

/**
 * Limits the requests of a minute, counted in Redis for all gateways together: per person where a session is asked for, and per
 * address everywhere else. A token whose session has ended is nobody's: a gateway learns that from the first reply that refuses it.
 * Lets everything through while Redis is away.
 */
export async function limitRates(app: FastifyInstance, deps: Deps, redis: Redis): Promise<void> {
  const { perMinute, perMinuteAnonymous } = deps.config.rateLimit
  const unchecked = deps.metrics.counter(metric.rateLimitUnavailable).with()
  const people = new WeakMap<FastifyRequest, FastifyRequest['claims']>()

  await app.register(rateLimit, {
    global: false,
    redis,
    nameSpace: redisNames(deps.config.redis).rates,
    timeWindow: windowMs,
    keyGenerator: (request) => {
      const userId = people.get(request)?.userId
      return userId ? `user:${userId}` : `ip:${normalizeIP(request.ip)}`
    },
    max: (request) => (people.has(request) ? perMinute : perMinuteAnonymous),
  })
  const countInRedis = app.createRateLimit()
  const ended = createEndedSessions()
  let restsUntil = 0

  async function count(request: FastifyRequest) {
    // After a command that got no answer the next ones would only wait for theirs as well.
    const usage = performance.now() < restsUntil ? undefined : await countInRedis(request).catch(() => undefined)
    if (usage) return usage
    unchecked.add()
    if (redis.status === 'ready' && performance.now() >= restsUntil) restsUntil = performance.now() + restMs
    return undefined
  }

  app.addHook('onRequest', async (request, reply) => {
    if (isHealth(request.url)) return
    const claims = await claimsOf(request, deps)
    if (claims && !ended.has(claims.sessionId)) people.set(request, claims)

    const usage = await count(request)
    if (!usage || usage.isAllowed) return
    reply.header('x-ratelimit-limit', usage.max)
    reply.header('x-ratelimit-remaining', usage.remaining)
    if (usage.isExceeded) throw tooMany('Too many requests. Please slow down', Math.max(1, usage.ttlInSeconds))
  })

  app.addHook('onResponse', async (request, { statusCode }) => {
    const claims = statusCode === 401 ? people.get(request) : undefined
    if (!claims) return
    ended.add(claims.sessionId)
    people.delete(request)
    await count(request)
  })
}

/** Sessions that have lately turned out to be over. One that is over never comes back, so to forget some costs one reply each. */
function createEndedSessions() {
  const sessions = new Set<string>()
  return {
    has: (sessionId: string) => sessions.has(sessionId),
    add(sessionId: string) {
      sessions.add(sessionId)
      if (sessions.size > endedSessions) sessions.delete(sessions.values().next().value!)
    },
  }
}

const isHealth = (url: string) => /^\/health(\/|\?|$)/.test(url)

/**
 * What the access token of a request says; nothing when it is none of ours, or has expired. Routes that ask for no session do not
 * look at it, so whoever shows one there is like anybody else at that address.
 */
async function claimsOf(request: FastifyRequest, { tokens }: Deps): Promise<FastifyRequest['claims'] | undefined> {
  const { url, config } = request.routeOptions
  const isStream = url === '/events'
  if (request.is404 || (config.access === 'none' && !isStream)) return undefined
  const token = isStream && !request.headers.authorization ? tokenInQuery : bearerToken
  try {
    return await tokens.verifyAccess(token(request))
  } catch {
    return undefined
  }
}

const tokenInQuery = ({ query }: FastifyRequest) => String((query as { token?: unknown }).token ?? '')
