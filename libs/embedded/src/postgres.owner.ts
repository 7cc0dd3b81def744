import { execFile } from 'node:child_process'
import { chmod, mkdir, mkdtemp, realpath, stat, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

export type Owner = { uid: number; gid: number }

/** What Debian calls nobody:nogroup; the number is free of rights on every Linux. */
const NOBODY: Owner = { uid: 65_534, gid: 65_534 }
const RELOCATED = '/var/lib/parley'

const isRoot = () => process.getuid?.() === 0

/** The user to run PostgreSQL as, which refuses root: whoever owns the data already, else nobody. Undefined: we are not root, it runs as we do. */
export async function clusterOwner(data: string): Promise<Owner | undefined> {
  if (!isRoot()) return undefined
  const { uid, gid } = await stat(data).catch(() => NOBODY)
  return uid === 0 ? NOBODY : { uid, gid }
}

/**
 * Creates the part's folder and answers its real path. Where root's data directory lies behind a closed door (a 0700 home) the other user could not
 * get in: then the folder is a link to one in /var/lib/parley.
 */
export async function prepareHome(directory: string, durable: boolean, log: (line: string) => void): Promise<string> {
  const there = await realpath(directory).catch(() => undefined)
  if (there && (!isRoot() || (await canReach(NOBODY, there)))) return there
  if (!there) await mkdir(dirname(directory), { recursive: true })

  const parent = await realpath(dirname(directory))
  // A test's folder fresh from mkdtemp has mode 0700: letting others pass through keeps its data in it, to be removed with it.
  if (isRoot() && !durable && dirname(parent) === (await realpath(tmpdir()))) await chmod(parent, 0o711)
  if (!there && isRoot() && !(await canReach(NOBODY, parent))) {
    await mkdir(RELOCATED, { recursive: true, mode: 0o755 })
    const home = await mkdtemp(join(RELOCATED, 'postgres-'))
    await chmod(home, 0o711)
    await symlink(home, directory)
    log(`PostgreSQL cannot run as root, and no other user can reach ${parent}: its data is kept in ${home}`)
    return home
  }
  await mkdir(directory, { recursive: true })
  await chmod(directory, isRoot() ? 0o711 : 0o700)
  return realpath(directory)
}

/** Whether that user may pass through this directory, asked of the system itself: modes alone do not tell (access lists, mounts). */
async function canReach({ uid, gid }: Owner, directory: string): Promise<boolean> {
  const asked = promisify(execFile)('/bin/sh', ['-c', 'cd "$1"', 'sh', directory], { uid, gid, cwd: '/', env: {} })
  return asked.then(
    () => true,
    () => false,
  )
}
