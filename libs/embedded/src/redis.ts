import { execFile } from 'node:child_process'
import { constants } from 'node:fs'
import { access, mkdir, open, readFile, realpath } from 'node:fs/promises'
import { connect } from 'node:net'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { childEnvironment } from '@parley/config'
import { loadOrCreateSecret, loadOrPickPort } from './data-directory.ts'
import { cachedEntry, exists, fetchDebianPackages, unpackedLibraries } from './fetched-programs.ts'
import type { EmbeddedOptions } from './postgres.ts'
import { endLeftovers } from './processes.ts'
import { type EmbeddedServer, type Probe, startServer } from './server-process.ts'

/**
 * Starts a Redis or Valkey on a loopback port. First ends processes that a killed launcher left running on the same
 * directory. With `durable` it keeps an append-only file that is flushed every second. The caller holds the data
 * directory's lock.
 * @throws Error with the command that installs a program when none is found, or with the end of the log.
 */
export async function startRedis(options: EmbeddedOptions): Promise<EmbeddedServer> {
  const log = options.log ?? (() => {})
  await mkdir(join(options.directory, 'data'), { recursive: true, mode: 0o700 })
  const directory = await realpath(options.directory)
  const password = await loadOrCreateSecret(directory, 'password')
  const { command, env } = await findRedis(options.cacheDirectory, log)

  const configFile = join(directory, 'redis.conf')
  const prepare = async () => {
    for (const name of ['redis-server', 'valkey-server']) {
      const ended = await endLeftovers(name, configFile, ['SIGTERM', 'SIGKILL'], 5_000)
      if (ended.length > 0) log(`Ended a Redis that an earlier start left running (pid ${ended.join(', ')})`)
    }
  }
  await prepare()
  const port = await loadOrPickPort(directory)
  await writePrivately(configFile, configuration(port, password, join(directory, 'data'), options.durable))

  return startServer({
    name: 'Redis',
    url: `redis://:${password}@127.0.0.1:${port}`,
    command,
    args: [configFile],
    env,
    logFile: join(directory, 'redis.log'),
    ending: [{ signal: 'SIGTERM', timeoutMs: 6_000 }],
    prepare,
    probe: () => probe(port, password),
  })
}

/**
 * The password is in this file (mode 0600), because every user can read a command line. `set-proc-title no` keeps the
 * command line, by which leftover processes are found.
 */
function configuration(port: number, password: string, data: string, durable: boolean): string {
  const lines = [
    'bind 127.0.0.1',
    `port ${port}`,
    `requirepass ${password}`,
    `dir ${JSON.stringify(data)}`,
    'daemonize no',
    'set-proc-title no',
    // Redis has the job queues, so it must refuse writes and not drop keys.
    'maxmemory-policy noeviction',
    'save ""',
    ...(durable ? ['appendonly yes', 'appendfsync everysec'] : ['appendonly no']),
  ]
  return `${lines.join('\n')}\n`
}

async function writePrivately(path: string, content: string): Promise<void> {
  const file = await open(path, 'w', 0o600)
  try {
    await file.chmod(0o600)
    await file.writeFile(content)
  } finally {
    await file.close()
  }
}

const probeTimeoutMs = 5_000

/** Signs in and sends a PING. Redis is `starting` while it loads its data. */
function probe(port: number, password: string): Promise<Probe> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' })
    const settle = (probe: Probe) => {
      socket.destroy()
      resolve(probe)
    }
    let received = ''

    socket.setTimeout(probeTimeoutMs, () => settle('silent'))
    socket.on('error', () => settle('silent'))
    socket.on('close', () => settle('silent'))
    socket.on('connect', () => socket.write(`AUTH ${password}\r\nPING\r\n`))
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1')
      const [signedIn, served] = received.split('\r\n')
      if (!received.includes('\r\n')) return
      if (signedIn !== '+OK') return settle(signedIn!.startsWith('-LOADING') ? 'starting' : 'refused')
      if (received.split('\r\n').length > 2) settle(served === '+PONG' ? 'ready' : 'starting')
    })
  })
}

export interface RedisBinary {
  command: string
  env: Record<string, string>
}

/** The oldest version with XAUTOCLAIM and all commands that the scripts of the job queue use. */
const oldestVersion = [6, 2] as const
const homebrewFolders = ['/opt/homebrew/bin', '/usr/local/bin']

/**
 * Finds a Redis or Valkey server on the PATH or in Homebrew. Otherwise, on Debian and Ubuntu, apt downloads it once
 * into the cache, without root.
 * @throws Error with the command that installs one.
 */
export async function findRedis(cacheDirectory: string | undefined, log: (line: string) => void): Promise<RedisBinary> {
  const path = (childEnvironment({}).PATH ?? '').split(delimiter).filter(Boolean)
  for (const directory of [...path, ...(process.platform === 'darwin' ? homebrewFolders : [])]) {
    for (const program of ['redis-server', 'valkey-server']) {
      const found = { command: join(directory, program), env: {} }
      if ((await isExecutable(found.command)) && (await serves(found))) return found
    }
  }
  if (!(await isExecutable('/usr/bin/apt-get'))) throw new Error(advice())
  try {
    return await fetchedRedis(cacheDirectory, log)
  } catch (error) {
    throw new Error(`${advice()}\nFetching it from this system's package archive failed: ${(error as Error).message}`, {
      cause: error,
    })
  }
}

async function fetchedRedis(cacheDirectory: string | undefined, log: (line: string) => void): Promise<RedisBinary> {
  const root = await cachedEntry(`redis-${await systemName()}-${process.arch}`, cacheDirectory, async (draft) => {
    log('Fetching Redis from the package archive of this system (once)')
    // The program of the server is in redis-tools.
    await fetchDebianPackages(draft, ['redis-server', 'redis-tools'], { librariesOf: ['redis-tools'] })
    if (!(await serves(await unpackedRedis(draft)))) throw new Error('the downloaded program does not run here')
  })
  return unpackedRedis(root)
}

async function unpackedRedis(root: string): Promise<RedisBinary> {
  const programs = ['redis-server', 'valkey-server'].map((program) => join(root, 'usr/bin', program))
  const command = (await exists(programs[0]!)) ? programs[0]! : programs[1]!
  return { command, env: await unpackedLibraries(root) }
}

async function serves({ command, env }: RedisBinary): Promise<boolean> {
  const { stdout } = await promisify(execFile)(command, ['--version'], { env }).catch(() => ({ stdout: '' }))
  const [, major, minor] = /v=(\d+)\.(\d+)/.exec(stdout) ?? []
  return Number(major) > oldestVersion[0] || (Number(major) === oldestVersion[0] && Number(minor) >= oldestVersion[1])
}

/**
 * The name and version of the system. Systems may share a cache (a checkout mounted into a container), and each needs
 * its own packages.
 */
async function systemName(): Promise<string> {
  const release = await readFile('/etc/os-release', 'utf8').catch(() => '')
  const value = (key: string) => new RegExp(`^${key}="?([\\w.-]+)`, 'm').exec(release)?.[1] ?? 'unknown'
  return `${value('ID')}-${value('VERSION_ID')}`
}

const isExecutable = (path: string) =>
  access(path, constants.X_OK).then(
    () => true,
    () => false,
  )

function advice(): string {
  const command = process.platform === 'darwin' ? 'brew install redis' : 'sudo apt-get install redis-server'
  return `No Redis ${oldestVersion.join('.')} or newer found on the PATH. Install one (${command}; elsewhere the package redis or valkey), or give REDIS_URL.`
}
