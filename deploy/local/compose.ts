import { admin } from '@parley/admin'
import { auth } from '@parley/auth'
import type { DatabaseRole } from '@parley/database'
import { directory } from '@parley/directory'
import { gateway } from '@parley/gateway'
import { messaging } from '@parley/messaging'
import { realtime } from '@parley/realtime'
import { buildApp, type Checks, type Deps, databaseCheck, type Service } from '@parley/service'
import { worker } from '@parley/worker'
import type { FastifyInstance } from 'fastify'

export interface Solo {
  /** The one app with every service on it; also serves `inject`. */
  fastify: FastifyInstance
  /** Starts what runs beside the routes, then listens at `server.host` and `server.port`. Answers the address. */
  start(): Promise<string>
  /** Not ready, requests finished, streams ended, then the rest in the order opposite to `start`. Leaves `deps` open. */
  stop(): Promise<void>
}

/**
 * Every service and the worker in one process, mounted on the gateway's own app.
 * @param depsOf what a service is made of when each has a PostgreSQL role of its own; unless given, all share `given`
 */
export async function composeSolo(given: Deps, depsOf: (role: DatabaseRole) => Deps = () => given): Promise<Solo> {
  // The relay runs in this process: whoever sends tells it directly, not through Redis.
  const background = worker(depsOf('worker'))
  const { wakeRelay } = background
  const as = (role: DatabaseRole): Deps => ({ ...depsOf(role), wakeRelay })
  // Who is calling and whether the schema is there, every role may ask: this one may change the least.
  const deps = as('realtime')
  const edge = gateway(deps)
  // Started in this order: whoever serves streams after the relay that feeds them.
  const services: Service[] = [
    edge,
    background,
    { plugin: auth(as('auth')) },
    { plugin: directory(as('directory')) },
    { plugin: messaging(as('messaging')) },
    { plugin: admin(as('admin')) },
    realtime(deps),
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
