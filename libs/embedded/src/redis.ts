import { mkdir, open, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { keptPort } from './kept.port.ts'
import { keptSecret } from './kept.secret.ts'
import { endLeftovers } from './leftovers.ts'
import { type EmbeddedPart, startPart } from './part.ts'
import type { EmbeddedOptions } from './postgres.ts'
import { findRedis } from './redis.binaries.ts'
import { probeRedis } from './redis.probe.ts'

/**
 * Starts a Redis (or Valkey) of our own on a loopback port and ends before what a killed launcher left running on the same directory.
 * Durable keeps an append-only file flushed every second. The caller holds the data directory's lock.
 * Throws when none is to be had, naming the command that helps, or with the log's end when it does not start.
 */
export async function startRedis(options: EmbeddedOptions): Promise<EmbeddedPart> {
  const log = options.log ?? (() => {})
  await mkdir(join(options.directory, 'data'), { recursive: true, mode: 0o700 })
  const directory = await realpath(options.directory)
  const password = await keptSecret(directory, 'password')
  const { command, env } = await findRedis(options.cacheDirectory, log)

  const configFile = join(directory, 'redis.conf')
  const clearWay = async () => {
    for (const name of ['redis-server', 'valkey-server']) {
      const ended = await endLeftovers(name, configFile, ['SIGTERM', 'SIGKILL'], 5_000)
      if (ended.length > 0) log(`Ended a Redis that an earlier start left running (pid ${ended.join(', ')})`)
    }
  }
  await clearWay()
  const port = await keptPort(directory)
  await writePrivately(configFile, configuration(port, password, join(directory, 'data'), options.durable))

  return startPart({
    name: 'Redis',
    url: `redis://:${password}@127.0.0.1:${port}`,
    command,
    args: [configFile],
    env,
    logFile: join(directory, 'redis.log'),
    ending: [{ signal: 'SIGTERM', patienceMs: 6_000 }],
    prepare: clearWay,
    probe: () => probeRedis(port, password),
  })
}

/** The password is in this file (mode 0600) because a command line can be read by everybody; the title stays off so that we find the process by it. */
function configuration(port: number, password: string, data: string, durable: boolean): string {
  const lines = [
    'bind 127.0.0.1',
    `port ${port}`,
    `requirepass ${password}`,
    `dir ${JSON.stringify(data)}`,
    'daemonize no',
    'set-proc-title no',
    // Queues live in it: it must refuse rather than forget.
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
