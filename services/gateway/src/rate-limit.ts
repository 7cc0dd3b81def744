import rateLimit, { normalizeIP } from '@fastify/rate-limit'
import { tooMany } from '@parley/contract'
import { openRedis, redisNames } from '@parley/events'
import { bearerToken, type Deps } from '@parley/service'
import { metric } from '@parley/telemetry'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Redis } from 'ioredis'

const windowMs = 60_000
const patienceMs = 200
const restMs = 1_000

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
 * Limits the requests of a minute, counted in Redis for all gateways together: per person, and per address for requests
 * without an access token of ours. Lets everything through while Redis is away.
 */
export async function limitRates(app: FastifyInstance, deps: Deps, redis: Redis): Promise<void> {
  const { perMinute, perMinuteAnonymous } = deps.config.rateLimit
  const unchecked = deps.metrics.counter(metric.rateLimitUnavailable).with()
  const people = new WeakMap<FastifyRequest, string>()

  await app.register(rateLimit, {
    global: false,
    redis,
    nameSpace: redisNames(deps.config.redis).rates,
    timeWindow: windowMs,
    keyGenerator: (request) => {
      const userId = people.get(request)
      return userId ? `user:${userId}` : `ip:${normalizeIP(request.ip)}`
    },
    max: (request) => (people.has(request) ? perMinute : perMinuteAnonymous),
  })
  const count = app.createRateLimit()
  let restsUntil = 0

  app.addHook('onRequest', async (request, reply) => {
    if (isHealth(request.url)) return
    const userId = await personOf(request, deps)
    if (userId) people.set(request, userId)

    // After a command that got no answer the next ones would only wait for theirs as well.
    const usage = performance.now() < restsUntil ? undefined : await count(request).catch(() => undefined)
    if (!usage) {
      unchecked.add()
      if (redis.status === 'ready' && performance.now() >= restsUntil) restsUntil = performance.now() + restMs
      return
    }
    if (usage.isAllowed) return
    reply.header('x-ratelimit-limit', usage.max)
    reply.header('x-ratelimit-remaining', usage.remaining)
    if (usage.isExceeded) throw tooMany('Too many requests, please slow down', Math.max(1, usage.ttlInSeconds))
  })
}

const isHealth = (url: string) => /^\/health(\/|\?|$)/.test(url)

/** Whose access token the request carries; nobody's when it is none of ours, or has expired. */
async function personOf(request: FastifyRequest, { tokens }: Deps): Promise<string | undefined> {
  const token = request.headers.authorization ? bearerToken : tokenInQuery
  try {
    return (await tokens.verifyAccess(token(request))).userId
  } catch {
    return undefined
  }
}

const tokenInQuery = ({ query }: FastifyRequest) => String((query as { token?: unknown }).token ?? '')
