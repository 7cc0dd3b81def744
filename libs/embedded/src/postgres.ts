import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Client, DatabaseError } from 'pg'
import { loadOrCreateSecret, loadOrPickPort } from './kept-values.ts'
import { findPostgres } from './postgres-binaries.ts'
import { clusterOwner, draftCluster, ensureCluster, preparePostgresDirectory } from './postgres-cluster.ts'
import { endLeftovers } from './processes.ts'
import { type EmbeddedServer, type Probe, startServer } from './server-process.ts'

export interface EmbeddedOptions {
  /** The server's own directory, with its data, password, port and log. */
  directory: string
  /** The folder for fetched programs; `.cache/parley` in the checkout unless given. */
  cacheDirectory?: string
  /** Whether acknowledged writes survive a crash of the machine. Tests set it to false, which is faster. */
  durable: boolean
  /** Called with lines for the person at the terminal, for instance about a download or an ended leftover process. */
  log?: (line: string) => void
}

/** The name of the database and of its superuser. */
const databaseName = 'parley'

/**
 * Starts a PostgreSQL on a loopback port. First ends processes that a killed launcher left running on the same
 * directory. Its database `parley` is UTF-8 with Unicode-aware `lower()` and ILIKE. The caller holds the data
 * directory's lock.
 * @throws Error when no binaries are found, when the data belongs to another major version, or with the end of the log.
 */
export async function startPostgres(options: EmbeddedOptions): Promise<EmbeddedServer> {
  const log = options.log ?? (() => {})
  const directory = await preparePostgresDirectory(options.directory, options.durable, log)
  const password = await loadOrCreateSecret(directory, 'password')
  const data = join(directory, 'data')
  const logFile = join(directory, 'postgres.log')
  const owner = await clusterOwner(data)
  const binaries = await findPostgres(options.cacheDirectory, owner, log)

  const prepare = async () => {
    const ended = await endLeftovers('postgres', data, ['SIGINT', 'SIGQUIT', 'SIGKILL'], 6_000)
    if (ended.length > 0) log(`Ended a PostgreSQL that an earlier start left running (pid ${ended.join(', ')})`)
    await claimPidFile(data)
  }
  await endLeftovers('initdb', draftCluster(data), ['SIGKILL'], 6_000)
  await endLeftovers('postgres', draftCluster(data), ['SIGKILL'], 6_000)
  await prepare()
  await ensureCluster({ binaries, owner, data, password, name: databaseName, durable: options.durable })

  const port = await loadOrPickPort(directory)
  const url = urlOf(password, port)
  return startServer({
    name: 'PostgreSQL',
    url,
    command: binaries.postgres,
    args: ['-D', data, ...settings(port, options.durable)],
    env: { LC_ALL: 'C', TZ: 'UTC' },
    owner,
    logFile,
    ending: [
      { signal: 'SIGINT', timeoutMs: 6_000 },
      { signal: 'SIGQUIT', timeoutMs: 2_000 },
    ],
    prepare,
    probe: () => probe(url),
  })
}

/** The URL of the PostgreSQL that `startPostgres` runs in this directory; undefined when none was started there yet. */
export async function storedPostgresUrl(directory: string): Promise<string | undefined> {
  const [password = '', port = ''] = await Promise.all(
    ['password', 'port'].map((name) => readFile(join(directory, name), 'utf8').catch(() => '')),
  )
  if (password.trim() === '' || port.trim() === '') return undefined
  return urlOf(password.trim(), port.trim())
}

const urlOf = (password: string, port: number | string) =>
  `postgres://${databaseName}:${password}@127.0.0.1:${port}/${databaseName}`

function settings(port: number, durable: boolean): string[] {
  const values: Record<string, string | number> = {
    listen_addresses: '127.0.0.1',
    port,
    unix_socket_directories: '',
    max_connections: 200,
    shared_buffers: '256MB',
    max_wal_size: '2GB',
    wal_compression: 'on',
    // The first setting is for solid-state disks. The queries are too short for just-in-time compilation to pay off.
    random_page_cost: 1.1,
    jit: 'off',
    timezone: 'UTC',
    log_timezone: 'UTC',
    ...(durable ? {} : forTests),
  }
  return Object.entries(values).flatMap(([name, value]) => ['-c', `${name}=${value}`])
}

/** Many test files share a server that is not durable. */
const forTests = {
  fsync: 'off',
  full_page_writes: 'off',
  synchronous_commit: 'off',
  max_connections: 500,
  // The services of a test open many connections. Deriving a key 4,096 times for each takes longer than most of their queries.
  scram_iterations: 1,
  // Each file clones the template database, and PostgreSQL would compress all its pages for the log: five times the processor time.
  wal_compression: 'off',
}

const probeTimeoutMs = 5_000

/** Signs in and disconnects. With SCRAM both sides prove that they know the password. */
async function probe(connectionString: string): Promise<Probe> {
  const client = new Client({ connectionString, connectionTimeoutMillis: probeTimeoutMs, ssl: false })
  // The server may close the connection at any moment. `connect` reports the relevant errors.
  client.on('error', () => {})
  try {
    await client.connect()
    return 'ready'
  } catch (error) {
    if (error instanceof DatabaseError) return refusals.has(error.code ?? '') ? 'refused' : 'starting'
    return (error as Error).message.startsWith('SASL') ? 'refused' : 'silent'
  } finally {
    await client.end().catch(() => {})
  }
}

/**
 * Wrong password, not allowed to sign in, no such database. Other errors (57P03 starting, 53300 too many connections)
 * are temporary.
 */
const refusals = new Set(['28P01', '28000', '3D000'])

/**
 * Writes our own pid into the pid file of a killed server. The old pid may belong to any process by now, and PostgreSQL
 * would then refuse to start. PostgreSQL treats a file with its parent's pid as stale. The file is not deleted, because
 * its other lines protect against orphans that still use the shared memory.
 */
async function claimPidFile(data: string): Promise<void> {
  const file = join(data, 'postmaster.pid')
  const content = await readFile(file, 'utf8').catch(() => '')
  if (content) await writeFile(file, content.replace(/^-?\d+/, String(process.pid)))
}
