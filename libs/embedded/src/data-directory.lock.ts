import { chmod, mkdir, open, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

export interface DataDirectoryLock {
  /** Gives the directory free; safe to call twice. */
  release(): Promise<void>
}

// A lock that nothing refers to would be collected, and with it released.
const held = new Set<DatabaseSync>()

/**
 * Makes this process the only one that works on a data directory (which is created when missing).
 * Throws, naming the holder's pid, while another process has it; a holder that was killed holds nothing. Throws also when the
 * directory cannot be made or written to, with what to do about it.
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
 * The lock is SQLite's on an empty database: Node itself offers no file lock, and one of the kernel's ends with its process however that
 * ends. A pid file alone cannot do that: its pid may live on in another process, and two starters may both find it stale.
 */
async function acquire(directory: string, pidFile: string): Promise<DatabaseSync> {
  const lockFile = join(directory, 'launcher.lock')
  await open(lockFile, 'a', 0o600).then((file) => file.close(), explain(directory))
  const lock = new DatabaseSync(lockFile)
  try {
    // Nothing is ever written, so there is no journal to leave lying about.
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

/** Says which directory it is, what is wrong with it and what helps. */
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
const notDirectory = (path: string) => `${path} is not a directory. Move that file away`
const reasons: Record<string, (path: string) => string> = {
  EACCES: notWritable,
  EPERM: notWritable,
  EROFS: (path) => `${path} is on a file system that is read-only. Make it writable`,
  ENOSPC: (path) => `the disk of ${path} is full. Make room on it`,
  EEXIST: notDirectory,
  ENOTDIR: notDirectory,
  EISDIR: (path) => `${path} is a directory and should be a file. Move it away`,
}

/** Secrets in it have mode 0600 each, in a folder of their own; the directory itself lets PostgreSQL's own user pass when root starts it, whatever the umask is. */
async function makeDataDirectory(directory: string): Promise<void> {
  const created = await mkdir(directory, { recursive: true })
  if (created && process.getuid?.() === 0) await chmod(directory, 0o711)
  await mkdir(join(directory, 'secrets'), { recursive: true, mode: 0o700 })
}
