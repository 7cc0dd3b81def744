import { mkdir, open, realpath } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { loadOrCreateSecret, loadOrPickPort } from './kept-values.ts'
import type { EmbeddedOptions } from './postgres.ts'
import { endLeftovers } from './processes.ts'
import { findRedis, redisPrograms } from './redis-binary.ts'
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
    for (const name of redisPrograms) {
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
