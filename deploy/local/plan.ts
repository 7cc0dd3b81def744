import { mkdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { type Config, childEnvironment, type DeepPartial } from '@parley/config'
import { type DatabaseRole, databaseRoles } from '@parley/database'
import { keptPort } from '@parley/embedded'

const repository = resolve(import.meta.dirname, '../..')
const databaseUsers: readonly string[] = databaseRoles
const upstreamServices = ['auth', 'directory', 'messaging', 'admin', 'realtime'] as const

/** One process of the cluster. */
export interface ProcessPlan {
  /** `messaging-1` */
  name: string
  /** Counted from 1. */
  replica: number
  /** What is started together and stopped together. */
  stage: 'worker' | 'service' | 'gateway'
  /** Where it answers. */
  address: string
  args: string[]
  /** Carries the configuration; secrets never stand on a command line. */
  env: Record<string, string>
}

export interface PlanOptions {
  config: Config
  /** Of each service. */
  replicas: number
  /** The person's configuration file: functions in it (mail templates) cannot travel by environment. */
  configFile: string | undefined
  /** Where each service signs in to PostgreSQL with a role of its own; without it all use the configured address. */
  databaseUrlOf?: ((role: DatabaseRole) => string) | undefined
}

/** Who runs where. Ports are kept in the data directory, so a process comes back where the others look for it. */
export async function drawPlan({ config, replicas, configFile, databaseUrlOf }: PlanOptions): Promise<ProcessPlan[]> {
  const { host, port } = config.server
  const portOf = portKeeper(join(config.dataDir, 'cluster'), port)
  const plan: ProcessPlan[] = []

  const add = (service: string, replica: number, stage: ProcessPlan['stage'], address: string, settings: Settings) => {
    // Metrics of the processes are found on consecutive ports from the configured one on.
    const metrics = { port: config.metrics.port === 0 ? 0 : config.metrics.port + plan.length }
    const isUser = databaseUrlOf && databaseUsers.includes(service)
    const database = isUser ? { database: { url: databaseUrlOf(service as DatabaseRole) } } : {}
    plan.push({
      name: `${service}-${replica}`,
      replica,
      stage,
      address,
      args: [...preloads, entryOf(service), ...(configFile === undefined ? [] : ['--config', configFile])],
      env: { ...childEnvironment(config), ...childEnvironment({ ...settings, ...database, metrics }, {}) },
    })
    return address
  }
  const addInside = async (service: string, stage: ProcessPlan['stage']) => {
    const addresses: string[] = []
    for (let replica = 1; replica <= replicas; replica++) {
      const server = { host: '127.0.0.1', port: await portOf(`${service}-${replica}`) }
      addresses.push(add(service, replica, stage, `http://${server.host}:${server.port}`, { server }))
    }
    return addresses
  }

  await addInside('worker', 'worker')
  const upstreams: Record<string, string[]> = {}
  for (const service of upstreamServices) upstreams[service] = await addInside(service, 'service')
  for (let replica = 1; replica <= replicas; replica++) {
    const address = `http://${host.includes(':') ? `[${host}]` : host}:${port}`
    add('gateway', replica, 'gateway', address, { server: { reusePort: replicas > 1 }, gateway: { upstreams } })
  }
  return plan
}

type Settings = DeepPartial<Config>

const preloads = ['@parley/telemetry/preload', './end-with-launcher.ts'].flatMap((module) => [
  '--import',
  import.meta.resolve(module),
])

const entryOf = (service: string) => join(repository, 'services', service, 'src/main.ts')

function portKeeper(directory: string, taken: number) {
  const given = new Set([taken])
  return async (name: string): Promise<number> => {
    // Asking for a port does not hold it: two names may be given the same one, then the second asks elsewhere.
    for (let attempt = 1; ; attempt++) {
      const home = join(directory, attempt === 1 ? name : `${name}.${attempt}`)
      await mkdir(home, { recursive: true, mode: 0o700 })
      const port = await keptPort(home)
      if (given.has(port)) continue
      given.add(port)
      return port
    }
  }
}
