import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { redisNames } from '@parley/redis'
import type { Deps, Service } from '@parley/service'
import type { Redis } from 'ioredis'
import { describeServices, documentation, type OpenApi } from './edge/documentation.ts'
import { createEdge } from './edge/edge.ts'
import { connectRateLimitRedis } from './edge/rate-limit.ts'
import { createProxy } from './proxy/proxy.ts'
import type { ReplicasOptions } from './proxy/replicas.ts'
import { proxiedRoutes } from './proxy/routes.ts'
import { type RoutedService, routedServices } from './routing-table.ts'

export { type RoutedService, type Row, routedServices, routingTable } from './routing-table.ts'

const redisTimeoutMs = 1_000

/** The gateway of solo: CORS, security headers, rate limits and the documentation, for services mounted on the same app. */
export function gateway(deps: Deps): Service {
  const redis = connectRateLimitRedis(deps)
  // A Redis whose memory is full, or which is a replica, answers PING but refuses every write.
  const { readiness } = redisNames(deps.config.redis)
  return {
    edge: createEdge(deps, redis),
    plugin: documentation({ describe: async (app) => app.swagger() }),
    start: () => firstConnection(redis),
    checks: { redis: { required: false, run: () => redis.set(readiness, '1', 'EX', 60) } },
    stop: async () => redis.disconnect(),
  }
}

/**
 * Waits a moment for Redis, because nothing is counted before it is connected. An unavailable Redis does not prevent
 * the start.
 */
async function firstConnection(redis: Redis): Promise<void> {
  await Promise.race([once(redis, 'ready'), delay(redisTimeoutMs)]).catch(() => {})
}

/** The gateway of a cluster: the same as in solo, and a proxy to the services at `config.gateway.upstreams`. */
export function clusterGateway(deps: Deps, replicas?: ReplicasOptions): Service {
  const edge = gateway(deps)
  const proxy = createProxy(deps, replicas)
  const readiness = (service: RoutedService) => ({
    required: true,
    run: () => proxy.fetchFirst(service, '/health/ready'),
  })
  const describe = (own: OpenApi) => describeServices((name) => proxy.fetchFirst(name, '/openapi.json'), own)
  return {
    ...edge,
    usesDatabase: false,
    // One connection to the client and one to realtime.
    filesPerStream: 2,
    plugin: async (app) => {
      await app.register(proxiedRoutes(deps, proxy))
      await app.register(documentation({ describe: (app) => describe(app.swagger() as OpenApi) }))
    },
    checks: { ...edge.checks, ...Object.fromEntries(routedServices.map((name) => [name, readiness(name)])) },
    async start() {
      await Promise.all([proxy.start(), edge.start?.()])
    },
    async stop() {
      await proxy.close()
      await edge.stop?.()
    },
  }
}
