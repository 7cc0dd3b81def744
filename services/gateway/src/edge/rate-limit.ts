import rateLimit, { normalizeIP } from '@fastify/rate-limit'
import { tooMany } from '@parley/contract'
import { openRedis, redisNames } from '@parley/redis'
import { bearerToken, type Deps, isFromInside } from '@parley/service'
import { metric } from '@parley/telemetry'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Redis } from 'ioredis'
import { LRUCache } from 'lru-cache'

const windowMs = 60_000
const commandTimeoutMs = 200
/** How long Redis is not used after a command without an answer. */
const pauseMs = 1_000
const rememberedSessions = 20_000

/** A connection whose commands fail soon, so that no request waits for an unavailable Redis. */
export function connectRateLimitRedis({ config, logger }: Deps): Redis {
  const redis = openRedis(config.redis, {
    connectionName: 'parley-gateway',
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    connectTimeout: 2_000,
    commandTimeout: commandTimeoutMs,
    retryStrategy: (attempt) => Math.min(100 * attempt, 2_000),
  })
  redis.on('error', (err) => logger.debug({ err }, 'the rate limit has lost its connection to Redis'))
  return redis
}

/**
 * Limits the requests per minute, counted in Redis for all gateways together: by person where a route needs a session
 * and for Slack's web API, and by address everywhere else. Requests with the token of an ended session count for the
 * address. The gateway learns of the end from the first response that refuses the token. An API token counts for its
 * address until a service has accepted it once. Health checks and the files of the web client do not count: people of
 * one office share an address. While Redis is unavailable, nothing is limited.
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
  // An ended session never becomes live again. When one is evicted from this cache, the next 401 response shows its end
  // again.
  const ended = new LRUCache<string, true>({ max: rememberedSessions })
  let pausedUntil = 0

  async function count(request: FastifyRequest) {
    // After a command without an answer, further ones would only wait too.
    const usage = performance.now() < pausedUntil ? undefined : await countInRedis(request).catch(() => undefined)
    if (usage) return usage
    unchecked.add()
    if (redis.status === 'ready' && performance.now() >= pausedUntil) pausedUntil = performance.now() + pauseMs
    return undefined
  }

  app.addHook('onRequest', async (request, reply) => {
    if (isHealth(request.url) || request.routeOptions.config.isWebClient || isFromInside(request)) return
    const claims = await claimsOf(request, deps)
    if (claims?.isGenuine && !ended.has(claims.sessionId)) people.set(request, claims)

    const usage = await count(request)
    if (!usage || usage.isAllowed) return
    reply.header('x-ratelimit-limit', usage.max)
    reply.header('x-ratelimit-remaining', usage.remaining)
    if (!usage.isExceeded) return
    const refusal = tooMany('Too many requests. Please slow down', Math.max(1, usage.ttlInSeconds))
    if (!isProviderCallback(request.url)) throw refusal
    const query = new URLSearchParams({ oauth_error: refusal.message, oauth_error_code: refusal.code })
    return reply.header('cache-control', 'no-store').redirect(`${deps.config.auth.appUrl}/?${query}`)
  })

  app.addHook('onResponse', async (request, reply) => {
    const isRefused = reply.statusCode === 401 || reply.getHeader('www-authenticate') === tokenRefused
    const claims = isRefused ? people.get(request) : undefined
    if (!claims) return
    ended.set(claims.sessionId, true)
    people.delete(request)
    await count(request)
  })
}

/** A browser that comes from a provider cannot show a JSON error. It is redirected to the application, as after other failures. */
const isProviderCallback = (url: string) => /^\/auth\/(oauth\/[^/?]+\/callback|saml\/[^/?]+\/acs)(\?|$)/.test(url)

const isHealth = (url: string) => /^\/health(\/|\?|$)/.test(url)

/**
 * The claims of the request's access token; undefined when the token is not valid. On routes that need no session the
 * token is ignored, and the request counts for the address.
 */
async function claimsOf(request: FastifyRequest, { tokens }: Deps): Promise<FastifyRequest['claims'] | undefined> {
  const { url, config } = request.routeOptions
  const isStream = url === '/events'
  const isSlackCall = url === slackCalls
  if (request.is404 || (config.access === 'none' && !isStream && !isSlackCall)) return undefined
  const token = isStream && !request.headers.authorization ? tokenInQuery : bearerToken
  try {
    return await tokens.verifyAccess(token(request))
  } catch {
    return undefined
  }
}

/** The header `www-authenticate` of a response that refuses the token. Slack's web API refuses it with the status 200. */
export const tokenRefused = 'Bearer'

/** The route of Slack's web API. A token in its arguments is not read here, so such a call counts for the address. */
const slackCalls = '/slack/api/:method'

const tokenInQuery = ({ query }: FastifyRequest) => String((query as { token?: unknown }).token ?? '')
