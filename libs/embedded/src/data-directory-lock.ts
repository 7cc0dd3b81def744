import { chmod, mkdir, open, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

interface DataDirectoryLock {
  /** Idempotent. */
  release(): Promise<void>
}

// Without a reference the lock would be garbage-collected, which releases it.
const held = new Set<DatabaseSync>()

/**
 * Locks a data directory for this process, and creates it when it is missing. A killed process loses its lock.
 * @throws Error with the holder's pid when another process has the lock, or with the remedy when the directory cannot
 * be used.
 */
export async function lockDataDirectory(directory: string): Promise<DataDirectoryLock> {
  await makeDataDirectory(directory).catch(explain(directory))
  const pidFile = join(directory, 'launcher.pid')
  const lock = await acquire(directory, pidFile)
  held.add(lock)
  await writeFile(pidFile, `${process.pid}\n`, { mode: 0o600 })

  return {
    release: async () => {
      if (!held.delete(lock)) return
      await rm(pidFile, { force: true })
      lock.close()
    },
  }
}

/**
 * The lock is SQLite's lock on an empty database, because Node has no file locks. The kernel releases it however the
 * process ends. A pid file alone is not enough: its pid may belong to another process by now, and two processes may
 * both find it stale.
 */
async function acquire(directory: string, pidFile: string): Promise<DatabaseSync> {
  const lockFile = join(directory, 'launcher.lock')
  await open(lockFile, 'a', 0o600).then((file) => file.close(), explain(directory))
  const lock = new DatabaseSync(lockFile)
  try {
    // With the journal in memory no file is left behind.
    lock.exec('PRAGMA journal_mode = MEMORY; BEGIN IMMEDIATE')
    return lock
  } catch (error) {
    lock.close()
    if (!/locked|busy/i.test((error as Error).message)) throw error
    const pid = (await readFile(pidFile, 'utf8').catch(() => '')).trim() || 'unknown'
    throw new Error(
      `The data directory ${directory} is in use by the process with pid ${pid}: stop that one first, or give this one a directory of its own`,
    )
  }
}

/** Throws an error that names the directory, the cause and the remedy. */
const explain = (directory: string) => (error: NodeJS.ErrnoException) => {
  const code = error.code ?? error.name
  const reason = reasons[code] ?? ((path: string) => `${path} fails with ${code}. Look at that path`)
  throw new Error(
    `The data directory ${directory} cannot be used: ${reason(error.path ?? directory)}, or name another directory by PARLEY_DATA_DIR or --dataDir`,
    { cause: error },
  )
}

const notWritable = (path: string) =>
  `${path} may not be written to by this user. Start as the owner of the directory, or make this user its owner (chown -R)`
const notDirectory = (path: string) => `${path} is not a directory. Please move that file`
const reasons: Record<string, (path: string) => string> = {
  EACCES: notWritable,
  EPERM: notWritable,
  EROFS: (path) => `${path} is on a file system that is read-only. Make it writable`,
  ENOSPC: (path) => `the disk of ${path} is full. Make room on it`,
  EEXIST: notDirectory,
  ENOTDIR: notDirectory,
  EISDIR: (path) => `${path} is a directory and should be a file. Please move it`,
}

/**
 * Creates the directory. When root starts PostgreSQL, PostgreSQL's user must be able to enter it, whatever the umask
 * is. Secrets have mode 0600.
 */
async function makeDataDirectory(directory: string): Promise<void> {
  const created = await mkdir(directory, { recursive: true })
  if (created && process.getuid?.() === 0) await chmod(directory, 0o711)
  await mkdir(join(directory, 'secrets'), { recursive: true, mode: 0o700 })
}
