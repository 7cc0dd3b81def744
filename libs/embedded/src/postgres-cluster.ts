import { type ExecFileException, execFile } from 'node:child_process'
import {
  chmod,
  chown,
  mkdir,
  mkdtemp,
  open,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import type { Owner, PostgresBinaries } from './postgres-binaries.ts'
import { exists } from './program-cache.ts'

/** Debian's nobody:nogroup. This id has no rights on any Linux. */
const nobody: Owner = { uid: 65_534, gid: 65_534 }
const dataFolderOfRoot = '/var/lib/parley'

const isRoot = () => process.getuid?.() === 0

/**
 * The user for PostgreSQL when this process is root, because PostgreSQL refuses to run as root: the owner of the data,
 * or nobody. Undefined when this process is not root.
 */
export async function clusterOwner(data: string): Promise<Owner | undefined> {
  if (!isRoot()) return undefined
  const { uid, gid } = await stat(data).catch(() => nobody)
  return uid === 0 ? nobody : { uid, gid }
}

/**
 * Creates PostgreSQL's directory and returns its real path. When this process is root and PostgreSQL's user cannot
 * enter the parent (a home directory with mode 0700), the directory becomes a link to one in /var/lib/parley.
 */
export async function preparePostgresDirectory(
  directory: string,
  durable: boolean,
  log: (line: string) => void,
): Promise<string> {
  const found = await realpath(directory).catch(() => undefined)
  if (found && (!isRoot() || (await canReach(nobody, found)))) return found
  if (!found) await mkdir(dirname(directory), { recursive: true })

  const parent = await realpath(dirname(directory))
  // A test's new temporary directory has mode 0700. With 0711 other users can pass through it, so the data stays in it
  // and is removed with it.
  if (isRoot() && !durable && dirname(parent) === (await realpath(tmpdir()))) await chmod(parent, 0o711)
  if (!found && isRoot() && !(await canReach(nobody, parent))) {
    await mkdir(dataFolderOfRoot, { recursive: true, mode: 0o755 })
    const relocated = await mkdtemp(join(dataFolderOfRoot, 'postgres-'))
    await chmod(relocated, 0o711)
    await symlink(relocated, directory)
    log(`PostgreSQL cannot run as root, and no other user can reach ${parent}: its data is kept in ${relocated}`)
    return relocated
  }
  await mkdir(directory, { recursive: true })
  await chmod(directory, isRoot() ? 0o711 : 0o700)
  return realpath(directory)
}

/**
 * Whether that user can enter this directory. A process of that user tries it, because access lists and mounts matter
 * beside modes.
 */
async function canReach({ uid, gid }: Owner, directory: string): Promise<boolean> {
  const asked = promisify(execFile)('/bin/sh', ['-c', 'cd "$1"', 'sh', directory], { uid, gid, cwd: '/', env: {} })
  return asked.then(
    () => true,
    () => false,
  )
}

interface Cluster {
  binaries: PostgresBinaries
  owner: Owner | undefined
  data: string
  password: string
  /** The name of the superuser and of the database. */
  name: string
  durable: boolean
}

/** A data directory is created under this name and renamed when it is complete. */
export const draftCluster = (data: string) => `${data}.draft`

/**
 * Creates the data directory with user, password and database, unless it exists. An interrupted first start leaves only
 * a draft.
 * @throws Error when the data belongs to another major version than the binaries.
 */
export async function ensureCluster(cluster: Cluster): Promise<void> {
  const { data, binaries, durable } = cluster
  if (await exists(data)) return refuseOtherMajor(data, binaries.major)

  const draft = draftCluster(data)
  // A child process of a killed initdb may still write there for a moment.
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
    // The built-in locale converts case in the same way on every platform, and its sort order never changes, so indexes
    // stay valid.
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

/** Creates the database in single-user mode, which needs no client and no port. */
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
    // The program may end before it has read its input. Its exit code shows whether that is an error.
    child.stdin?.on('error', () => {})
    child.stdin?.end(input)
  })
}

/** The remedy for an error that occurs in containers with an arbitrary user id. */
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
