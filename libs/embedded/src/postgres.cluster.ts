import { type ExecFileException, execFile } from 'node:child_process'
import { chown, mkdir, open, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { exists } from './cache.directory.ts'
import type { PostgresBinaries } from './postgres.binaries.ts'
import type { Owner } from './postgres.owner.ts'

interface Cluster {
  binaries: PostgresBinaries
  owner: Owner | undefined
  data: string
  password: string
  /** Of the superuser and of the database. */
  name: string
  durable: boolean
}

/** Where a data directory is built before it gets its name. */
export const draftCluster = (data: string) => `${data}.draft`

/**
 * Makes the data directory with user, password and database unless it is there. It is built beside its place and renamed, so an interrupted first
 * start leaves nothing half done. Throws when the data there is of another major version than the binaries.
 */
export async function ensureCluster(cluster: Cluster): Promise<void> {
  const { data, binaries, durable } = cluster
  if (await exists(data)) return refuseOtherMajor(data, binaries.major)

  const draft = draftCluster(data)
  // An initdb that was killed has a child, which may still be writing there for a moment.
  await rm(draft, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
  await mkdir(draft, { mode: 0o700 })
  if (cluster.owner) await chown(draft, cluster.owner.uid, cluster.owner.gid)
  await initialise(cluster, draft)
  await createDatabase(cluster, draft)
  await rename(draft, data)
  if (durable) await syncDirectory(dirname(data))
}

async function refuseOtherMajor(data: string, major: number): Promise<void> {
  const found = Number(await readFile(join(data, 'PG_VERSION'), 'utf8'))
  if (found === major) return
  throw new Error(
    `${data} was made by PostgreSQL ${found}, here runs ${major}: dump it with ${found} and load it with ${major} (pg_dumpall), or use pg_upgrade`,
  )
}

async function initialise({ binaries, owner, password, name, durable }: Cluster, draft: string): Promise<void> {
  const passwordFile = `${draft}.password`
  await writeFile(passwordFile, password, { mode: 0o600 })
  try {
    if (owner) await chown(passwordFile, owner.uid, owner.gid)
    // The built-in locale knows Unicode's cases on every platform alike, and its sort order never changes below the indexes.
    const locale =
      binaries.major >= 17
        ? ['--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8']
        : ['--locale=C.UTF-8']
    await runAs(owner, binaries.initdb, [
      '-D',
      draft,
      `--username=${name}`,
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      ...locale,
      ...(durable ? [] : ['--no-sync']),
    ])
  } finally {
    await rm(passwordFile, { force: true })
  }
}

/** In single-user mode, which needs neither a client nor a port. */
const createDatabase = ({ binaries, owner, name, durable }: Cluster, draft: string) =>
  runAs(
    owner,
    binaries.postgres,
    ['--single', '-D', draft, '-c', `fsync=${durable ? 'on' : 'off'}`, '-c', 'exit_on_error=on', 'postgres'],
    `CREATE DATABASE ${name}\n`,
  )

function runAs(owner: Owner | undefined, command: string, args: string[], input = ''): Promise<void> {
  return new Promise((resolve, reject) => {
    const done = (error: ExecFileException | null, stdout: string, stderr: string) =>
      error ? reject(new Error(`${command} failed:\n${stdout}${stderr}${hint(stderr)}`)) : resolve()
    const child = execFile(command, args, { cwd: '/', env: { LC_ALL: 'C', TZ: 'UTC' }, ...owner }, done)
    // It may end before it has read its input; its exit code tells.
    child.stdin?.on('error', () => {})
    child.stdin?.end(input)
  })
}

/** Containers under an arbitrary user id meet this one. */
const hint = (stderr: string) =>
  stderr.includes('could not look up effective user ID')
    ? 'PostgreSQL needs its user in /etc/passwd: add an entry for this user id, start as another user, or give DATABASE_URL'
    : ''

async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r')
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}
