import { admin } from '@parley/admin'
import { auth } from '@parley/auth'
import type { DatabaseRole } from '@parley/database'
import { directory } from '@parley/directory'
import { gateway } from '@parley/gateway'
import { integrations, subscriptionDelivery } from '@parley/integrations'
import { messaging } from '@parley/messaging'
import { realtime } from '@parley/realtime'
import { buildApp, type Checks, type Deps, databaseCheck, type Service } from '@parley/service'
import { worker } from '@parley/worker'
import type { FastifyInstance } from 'fastify'

interface Solo {
  /** The app with the routes of every service. */
  fastify: FastifyInstance
  /** Starts the background work, then listens at `server.host` and `server.port`. Returns the address. */
  start(): Promise<string>
  /**
   * Reports not ready, finishes requests, ends streams, then stops the rest in the reverse order of `start`. It does
   * not close `deps`.
   */
  stop(): Promise<void>
}

/**
 * Puts every service and the worker into one process, on the gateway's app.
 * @param depsOf the deps of each service when each has its own PostgreSQL role; otherwise all share `given`
 */
export async function composeSolo(
  given: Deps,
  depsOf: (role: DatabaseRole) => Deps = () => given,
  others: Service[] = [],
): Promise<Solo> {
  // The relay runs in this process, so senders wake it directly and not through Redis.
  const background = worker(depsOf('worker'))
  const { wakeRelay } = background
  const as = (role: DatabaseRole): Deps => ({ ...depsOf(role), wakeRelay })
  // These are for sign-in checks and the schema check, which every role may run. This role has the fewest rights.
  const deps = as('realtime')
  const edge = gateway(deps)
  // They start in this order: the streams after the relay that feeds them.
  const services: Service[] = [
    edge,
    background,
    { plugin: auth(as('auth')) },
    { plugin: directory(as('directory')) },
    { plugin: messaging(as('messaging')) },
    { plugin: admin(as('admin')) },
    { plugin: integrations(as('integrations')), ...subscriptionDelivery(as('integrations')) },
    realtime(deps),
    ...others,
  ]
  const checks: Checks = Object.assign(
    { postgresql: databaseCheck(deps) },
    ...services.map((service) => service.checks),
  )
  const { fastify, drain } = await buildApp({ deps, position: 'edge', checks, edge: edge.edge, filesPerStream: 1 })
  for (const { plugin } of services) if (plugin) await fastify.register(plugin)

  return {
    fastify,
    async start() {
      for (const service of services) await service.start?.()
      const { host, port } = deps.config.server
      return fastify.listen({ host, port, backlog: 4096 })
    },
    async stop() {
      drain()
      await fastify.close()
      for (const service of services.toReversed()) await service.stop?.()
    },
  }
}
