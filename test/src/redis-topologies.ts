import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { findRedis, loadOrPickPort, type RedisBinary } from '@parley/embedded'
import { Redis, type RedisOptions } from 'ioredis'

export interface RedisServer {
  port: number
  /** `host:port` */
  address: string
  signal(signal: NodeJS.Signals): void
  /** Kills it, like a crash. */
  crash(): Promise<void>
  restart(): Promise<void>
  /** Calls `question` with a direct connection. */
  ask<T>(question: (redis: Redis) => Promise<T>): Promise<T>
}

export interface RedisShapes {
  /**
   * One server with these lines in its configuration, besides its port. `access` has the connection options of the test
   * itself.
   */
  server(lines?: string[], access?: RedisOptions): Promise<RedisServer>
  /** A master called `chat`, its replica, and one Sentinel with a quorum of 1. */
  sentinel(): Promise<{ master: RedisServer; replica: RedisServer; sentinel: RedisServer }>
  /** Three masters that share the slots. */
  cluster(lines?: string[], access?: RedisOptions): Promise<RedisServer[]>
  /** A self-signed certificate for 127.0.0.1: its text, and the configuration lines of a server. */
  certificate(): Promise<{ ca: string; lines: string[] }>
  /** Ends all of them. */
  discard(): Promise<void>
}

/** The reason why these servers cannot run on this machine; undefined when they can. */
export async function whyNoRedis(needs: 'any' | 'tls' = 'any'): Promise<string | undefined> {
  const binary = await findRedis(undefined, () => {}).catch((error: Error) => error)
  if (binary instanceof Error) return 'no redis-server on this machine'
  const { stdout } = await promisify(execFile)(binary.command, ['--version'], { env: binary.env })
  if (Number(/v=(\d+)/.exec(stdout)?.[1]) < 7) return 'the redis-server here is older than 7'
  if (needs === 'any') return undefined
  const openssl = await promisify(execFile)('openssl', ['version']).catch(() => undefined)
  if (!openssl) return 'no openssl on this machine'
  const refused = await promisify(execFile)(binary.command, ['--port', '0', '--tls-port', '1'], { env: binary.env })
    .then(() => '')
    .catch(({ stdout }: { stdout: string }) => stdout)
  return /Bad directive/i.test(refused) ? 'the redis-server here was built without TLS' : undefined
}

/** Real servers in every topology that Parley supports. */
export async function redisShapes(): Promise<RedisShapes> {
  const home = await mkdtemp(path.join(tmpdir(), 'parley-shapes-'))
  const binary = await findRedis(undefined, () => {})
  const running: { end(): Promise<void> }[] = []

  const newFolder = async (): Promise<string> => {
    const directory = path.join(home, String(running.length), crypto.randomUUID())
    await mkdir(directory, { recursive: true })
    return directory
  }

  async function start(lines: string[], { access = {}, isSentinel = false }: StartOptions = {}) {
    const directory = await newFolder()
    const port = await loadOrPickPort(directory)
    const file = path.join(directory, 'redis.conf')
    const listens = access.tls ? [`tls-port ${port}`, 'port 0'] : [`port ${port}`]
    const fixed = ['bind 127.0.0.1', 'protected-mode no', `dir ${directory}`]
    await writeFile(file, `${[...fixed, ...listens, ...(isSentinel ? [] : ['save ""']), ...lines].join('\n')}\n`)
    let child: ChildProcess
    const server: RedisServer = {
      port,
      address: `127.0.0.1:${port}`,
      signal: (signal) => void child.kill(signal),
      async crash() {
        child.kill('SIGKILL')
        if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
      },
      async restart() {
        child = spawnRedis(binary, [file, ...(isSentinel ? ['--sentinel'] : [])])
        await answers(server)
      },
      async ask(question) {
        const redis = new Redis({ port, host: '127.0.0.1', ...access, retryStrategy: null, enableReadyCheck: false })
        redis.on('error', () => {})
        try {
          return await question(redis)
        } finally {
          redis.disconnect()
        }
      },
    }
    running.push({ end: () => server.crash() })
    await server.restart()
    return server
  }

  return {
    server: (lines = [], access = {}) => start(lines, { access }),
    async sentinel() {
      const master = await start([])
      const replica = await start([`replicaof 127.0.0.1 ${master.port}`, 'repl-diskless-sync-delay 0'])
      await until(async () => {
        const role = (await replica.ask((redis) => redis.role())) as unknown[]
        return role[3] === 'connected'
      })
      const lines = [
        `sentinel monitor chat 127.0.0.1 ${master.port} 1`,
        'sentinel down-after-milliseconds chat 500',
        'sentinel failover-timeout chat 2000',
      ]
      const sentinel = await start(lines, { isSentinel: true })
      const replicas = (redis: Redis) => redis.call('SENTINEL', 'REPLICAS', 'chat') as Promise<unknown[]>
      await until(async () => (await sentinel.ask(replicas)).length === 1)
      return { master, replica, sentinel }
    },
    async cluster(lines = [], access = {}) {
      const nodes: (RedisServer & { bus: number })[] = []
      for (const _ of Array(3)) {
        const bus = await loadOrPickPort(await newFolder())
        const settings = ['cluster-enabled yes', 'cluster-node-timeout 2000', `cluster-port ${bus}`, ...lines]
        nodes.push(Object.assign(await start(settings, { access }), { bus }))
      }
      const [first] = nodes
      for (const [index, node] of nodes.entries()) {
        const [from, to] = [Math.ceil((index * 16_384) / 3), Math.ceil(((index + 1) * 16_384) / 3) - 1]
        await node.ask((redis) => redis.call('CLUSTER', 'SET-CONFIG-EPOCH', index + 1))
        await node.ask((redis) => redis.call('CLUSTER', 'ADDSLOTSRANGE', from, to))
        if (node !== first)
          await node.ask((redis) => redis.call('CLUSTER', 'MEET', '127.0.0.1', first!.port, first!.bus))
      }
      for (const node of nodes) {
        await until(async () => {
          const info = String(await node.ask((redis) => redis.cluster('INFO')))
          return info.includes('cluster_state:ok') && info.includes('cluster_size:3')
        })
      }
      return nodes
    },
    async certificate() {
      const directory = await newFolder()
      const [key, cert] = ['key.pem', 'cert.pem'].map((name) => path.join(directory, name))
      const made = `req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=parley-test -addext subjectAltName=IP:127.0.0.1`
      await promisify(execFile)('openssl', [...made.split(' '), '-keyout', key!, '-out', cert!])
      const lines = [`tls-cert-file ${cert}`, `tls-key-file ${key}`, `tls-ca-cert-file ${cert}`, 'tls-auth-clients no']
      return { ca: await readFile(cert!, 'utf8'), lines }
    },
    async discard() {
      await Promise.all(running.splice(0).map(({ end }) => end()))
      await rm(home, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

interface StartOptions {
  access?: RedisOptions
  isSentinel?: boolean
}

const spawnRedis = ({ command, env }: RedisBinary, args: string[]) => spawn(command, args, { env, stdio: 'ignore' })

const answers = (server: RedisServer) =>
  until(async () => (await server.ask((redis) => redis.call('PING')).catch(() => '')) === 'PONG')

async function until(holds: () => Promise<boolean>): Promise<void> {
  const latest = performance.now() + 30_000
  while (!(await holds().catch(() => false))) {
    if (performance.now() > latest) throw new Error('the servers did not reach the expected state within 30 s')
    await delay(50)
  }
}
