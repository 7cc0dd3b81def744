import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { keptPort } from './kept.port.ts'
import { keptSecret } from './kept.secret.ts'
import { endLeftovers } from './leftovers.ts'
import { type EmbeddedPart, startPart } from './part.ts'
import { findPostgres } from './postgres.binaries.ts'
import { draftCluster, ensureCluster } from './postgres.cluster.ts'
import { clusterOwner, prepareHome } from './postgres.owner.ts'
import { probePostgres } from './postgres.probe.ts'

export interface EmbeddedOptions {
  /** The part's own folder: its data, password, port and log live there. */
  directory: string
  /** Where fetched programs are kept; by default `.cache/parley` in the checkout. */
  cacheDirectory?: string
  /** True keeps what was acknowledged through a crash of the machine; false is for tests, fast and careless. */
  durable: boolean
  /** Told, one line each, what a person may want to know: a download, a leftover that was ended. */
  log?: (line: string) => void
}

/** User and database alike; the user is the superuser of this server. */
const NAME = 'parley'

/**
 * Starts a PostgreSQL of our own on a loopback port and ends before what a killed launcher left running on the same directory.
 * Its database `parley` is UTF-8 with Unicode-aware `lower()` and ILIKE. The caller holds the data directory's lock.
 * Throws when no binaries are to be had, when the data is of another major version, or with the log's end when it does not start.
 */
export async function startPostgres(options: EmbeddedOptions): Promise<EmbeddedPart> {
  const log = options.log ?? (() => {})
  const directory = await prepareHome(options.directory, options.durable, log)
  const password = await keptSecret(directory, 'password')
  const data = join(directory, 'data')
  const logFile = join(directory, 'postgres.log')
  const owner = await clusterOwner(data)
  const binaries = await findPostgres(options.cacheDirectory, owner, log)

  const clearWay = async () => {
    const ended = await endLeftovers('postgres', data, ['SIGINT', 'SIGQUIT', 'SIGKILL'], 6_000)
    if (ended.length > 0) log(`Ended a PostgreSQL that an earlier start left running (pid ${ended.join(', ')})`)
    await disownPidFile(data)
  }
  await endLeftovers('initdb', draftCluster(data), ['SIGKILL'], 6_000)
  await endLeftovers('postgres', draftCluster(data), ['SIGKILL'], 6_000)
  await clearWay()
  await ensureCluster({ binaries, owner, data, password, name: NAME, durable: options.durable })

  const port = await keptPort(directory)
  return startPart({
    name: 'PostgreSQL',
    url: `postgres://${NAME}:${password}@127.0.0.1:${port}/${NAME}`,
    command: binaries.postgres,
    args: ['-D', data, ...settings(port, options.durable)],
    env: { LC_ALL: 'C', TZ: 'UTC' },
    owner,
    logFile,
    ending: [
      { signal: 'SIGINT', patienceMs: 6_000 },
      { signal: 'SIGQUIT', patienceMs: 2_000 },
    ],
    prepare: clearWay,
    probe: () => probePostgres({ port, user: NAME, password, database: NAME }),
  })
}

function settings(port: number, durable: boolean): string[] {
  const values: Record<string, string | number> = {
    listen_addresses: '127.0.0.1',
    port,
    unix_socket_directories: '',
    max_connections: 200,
    shared_buffers: '256MB',
    max_wal_size: '2GB',
    wal_compression: 'on',
    // Solid-state disks; and the queries here are too short for just-in-time compilation to pay.
    random_page_cost: 1.1,
    jit: 'off',
    timezone: 'UTC',
    log_timezone: 'UTC',
    ...(durable ? {} : { fsync: 'off', full_page_writes: 'off', synchronous_commit: 'off' }),
  }
  return Object.entries(values).flatMap(([name, value]) => ['-c', `${name}=${value}`])
}

/**
 * Puts our own pid in the place of a dead server's: PostgreSQL takes its parent's pid there for stale, while the pid of the dead may meanwhile be
 * anybody's and would make it refuse. The file stays because its other lines guard against orphans still attached to the shared memory.
 */
async function disownPidFile(data: string): Promise<void> {
  const file = join(data, 'postmaster.pid')
  const content = await readFile(file, 'utf8').catch(() => '')
  if (content) await writeFile(file, content.replace(/^-?\d+/, String(process.pid)))
}
