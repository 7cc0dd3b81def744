import { mkdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { type Config, childEnvironment, type DeepPartial } from '@parley/config'
import { keptPort } from '@parley/embedded'

const repository = resolve(import.meta.dirname, '../..')
const upstreamServices = ['auth', 'directory', 'messaging', 'admin', 'realtime'] as const

/** One process of the cluster. */
export interface ProcessPlan {
  /** `messaging-1` */
  name: string
  /** What is started together and stopped together. */
  stage: 'worker' | 'service' | 'gateway'
  args: string[]
  /** Carries the configuration; secrets never stand on a command line. */
  env: Record<string, string>
}

/** Who runs where. Ports are kept in the data directory, so a process comes back where the others look for it. */
export async function drawPlan(config: Config, replicas: number, configFile?: string): Promise<ProcessPlan[]> {
  const directory = join(config.dataDir, 'cluster')
  const ports = portKeeper(directory, config.server.port)
  const plan: ProcessPlan[] = []
  const upstreams: Record<(typeof upstreamServices)[number], string[]> = {
    auth: [],
    directory: [],
    messaging: [],
    admin: [],
    realtime: [],
  }

  const add = async (
    service: string,
    stage: ProcessPlan['stage'],
    settings: (replica: number) => Promise<Settings>,
  ) => {
    for (let replica = 1; replica <= replicas; replica++) {
      const name = `${service}-${replica}`
      plan.push({
        name,
        stage,
        args: [
          '--import',
          import.meta.resolve('@parley/telemetry/preload'),
          '--import',
          import.meta.resolve('./end-with-launcher.ts'),
          join(repository, 'services', service, 'src/main.ts'),
          ...(configFile === undefined ? [] : ['--config', configFile]),
        ],
        env: {
          ...childEnvironment(config),
          ...childEnvironment(await settings(replica), {}),
          NODE_COMPILE_CACHE: join(directory, 'compiled'),
        },
      })
    }
  }

  await add('worker', 'worker', async (replica) => inside(await ports(`worker-${replica}`), config, plan.length))
  for (const service of upstreamServices) {
    await add(service, 'service', async (replica) => {
      const port = await ports(`${service}-${replica}`)
      upstreams[service].push(`http://127.0.0.1:${port}`)
      return inside(port, config, plan.length)
    })
  }
  await add('gateway', 'gateway', async () => ({
    server: { reusePort: replicas > 1 },
    gateway: { upstreams },
    metrics: metricsOf(config, plan.length),
  }))
  return plan
}

type Settings = DeepPartial<Config>

const inside = (port: number, config: Config, index: number): Settings => ({
  server: { host: '127.0.0.1', port },
  metrics: metricsOf(config, index),
})

/** Metrics of the processes are found on consecutive ports from the configured one on. */
const metricsOf = ({ metrics: { port } }: Config, index: number) => ({ port: port === 0 ? 0 : port + index })

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
