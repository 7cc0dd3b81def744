import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import type { Deps, Service } from '@parley/service'
import type { Redis } from 'ioredis'
import { documentation } from './edge/documentation.ts'
import { createFront } from './edge/edge.ts'
import type { OpenApi } from './edge/merged-openapi.ts'
import { connectRateLimitRedis } from './edge/rate-limit.ts'
import { createProxy } from './proxy/proxy.ts'
import { proxiedRoutes } from './proxy/routes.ts'
import { type RoutedService, routedServices } from './routing-table.ts'

export { type RoutedService, type Row, routedServices, routingTable } from './routing-table.ts'

const patienceMs = 1_000

/**
 * What stands at the edge in front of services mounted on the same app: CORS, security headers, rate limits, the
 * documentation.
 */
export function gateway(deps: Deps): Service {
  const redis = connectRateLimitRedis(deps)
  return {
    front: createFront(deps, redis),
    plugin: documentation({ describe: async (app) => app.swagger() }),
    start: () => firstConnection(redis),
    checks: { redis: { required: false, run: () => redis.ping() } },
    stop: async () => redis.disconnect(),
  }
}

/** Until then nothing is counted; but a Redis that is away stops no start. */
async function firstConnection(redis: Redis): Promise<void> {
  await Promise.race([once(redis, 'ready'), delay(patienceMs)]).catch(() => {})
}

/** The same, and a proxy: the services are processes of their own, at `config.gateway.upstreams`. */
export function distributedGateway(deps: Deps): Service {
  const edge = gateway(deps)
  const proxy = createProxy(deps)
  const readiness = (service: RoutedService) => ({ required: true, run: () => proxy.ask(service, '/health/ready') })
  return {
    ...edge,
    usesDatabase: false,
    // The client's side and realtime's.
    filesPerStream: 2,
    plugin: async (app) => {
      await app.register(proxiedRoutes(deps, proxy))
      await app.register(documentation({ describe: (app) => proxy.describe(app.swagger() as OpenApi) }))
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
