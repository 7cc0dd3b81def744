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
 * Throws, naming the holder's pid, while another process has it; a holder that was killed holds nothing.
 */
export async function lockDataDirectory(directory: string): Promise<DataDirectoryLock> {
  await makeDataDirectory(directory)
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
  try {
    await (await open(lockFile, 'a', 0o600)).close()
  } catch (error) {
    throw new Error(`Cannot write to the data directory ${directory}: start as its owner`, { cause: error })
  }
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

/** Secrets in it have mode 0600 each; the directory itself lets PostgreSQL's own user pass when root starts it, whatever the umask is. */
async function makeDataDirectory(directory: string): Promise<void> {
  const created = await mkdir(directory, { recursive: true })
  if (created && process.getuid?.() === 0) await chmod(directory, 0o711)
}
