import { mkdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { browserHost, type Config, childEnvironment, type DeepPartial } from '@parley/config'
import { type DatabaseRole, databaseRoles } from '@parley/database'
import { loadOrPickPort } from '@parley/embedded'

const repository = resolve(import.meta.dirname, '../..')
const databaseUsers: readonly string[] = databaseRoles
const upstreamServices = ['auth', 'directory', 'messaging', 'admin', 'integrations', 'realtime', 'web'] as const

/** One process of the cluster. */
export interface ProcessPlan {
  /** `messaging-1` */
  name: string
  /** Counted from 1. */
  replica: number
  /** Processes of one stage start and stop together. */
  stage: 'worker' | 'service' | 'gateway'
  address: string
  args: string[]
  /** Carries the configuration, because secrets must not be on a command line. */
  env: Record<string, string>
}

interface PlanOptions {
  config: Config
  /** Processes of each service. */
  replicas: number
  /** The configuration file. It may contain functions (mail templates), which do not fit into the environment. */
  configFile: string | undefined
  /** The address with which each service signs in to PostgreSQL by its role; without it all use the configured address. */
  databaseUrlOf?: ((role: DatabaseRole) => string) | undefined
}

/** Plans the processes. Ports are kept in the data directory, so a restarted process has the port that the others know. */
export async function planCluster({
  config,
  replicas,
  configFile,
  databaseUrlOf,
}: PlanOptions): Promise<ProcessPlan[]> {
  const { host, port } = config.server
  const portOf = portAllocator(join(config.dataDir, 'cluster'), port)
  const plan: ProcessPlan[] = []

  const add = ({ service, replica, stage, address, settings }: PlannedReplica) => {
    // The processes serve metrics on consecutive ports, from the configured one on.
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
  }
  const upstreams: Record<string, string[]> = {}
  const addReplicas = async (service: string, stage: ProcessPlan['stage']) => {
    // Integrations calls services that are planned already.
    const gateway = service === 'integrations' ? { gateway: { upstreams: { ...upstreams } } } : {}
    const addresses: string[] = []
    for (let replica = 1; replica <= replicas; replica++) {
      const server = { host: '127.0.0.1', port: await portOf(`${service}-${replica}`) }
      const address = `http://${server.host}:${server.port}`
      add({ service, replica, stage, address, settings: { server, ...gateway } })
      addresses.push(address)
    }
    return addresses
  }

  await addReplicas('worker', 'worker')
  for (const service of upstreamServices) upstreams[service] = await addReplicas(service, 'service')
  for (let replica = 1; replica <= replicas; replica++) {
    const address = `http://${browserHost(host)}:${port}`
    const settings = { server: { reusePort: replicas > 1 }, gateway: { upstreams } }
    add({ service: 'gateway', replica, stage: 'gateway', address, settings })
  }
  return plan
}

interface PlannedReplica extends Pick<ProcessPlan, 'replica' | 'stage' | 'address'> {
  service: string
  /** The settings in which it differs from the others. */
  settings: DeepPartial<Config>
}

const preloads = ['@parley/telemetry/preload', './end-with-launcher.ts'].flatMap((module) => [
  '--import',
  import.meta.resolve(module),
])

const entryOf = (service: string) => join(repository, 'services', service, 'src/main.ts')

function portAllocator(directory: string, taken: number) {
  const given = new Set([taken])
  return async (name: string): Promise<number> => {
    // Two names may get the same free port, because `loadOrPickPort` does not reserve it. The second one then uses the
    // port of another folder.
    for (let n = 1; ; n++) {
      const folder = join(directory, n === 1 ? name : `${name}.${n}`)
      await mkdir(folder, { recursive: true, mode: 0o700 })
      const port = await loadOrPickPort(folder)
      if (given.has(port)) continue
      given.add(port)
      return port
    }
  }
}
