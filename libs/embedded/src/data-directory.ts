import { randomBytes, randomInt } from 'node:crypto'
import { chmod, link, mkdir, open, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

export interface DataDirectoryLock {
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

/* Ports, secrets and addresses are created once and stored in the data directory, so that they survive a restart. */

// Below the ranges from which Linux (32768) and macOS (49152) take the ports of outgoing connections. Inside such a range a
// client that keeps reconnecting to a closed port can connect to itself, and the server could not take its port back.
const lowestPort = 15_000
const highestPort = 30_000

/**
 * Returns a function that finds a loopback port on which nothing listens, from `lowest` to below `highest`. Each call
 * returns another port. It begins at a random port, so that two processes rarely try the same one.
 */
export function createPortFinder(lowest: number, highest: number): () => Promise<number> {
  let next = randomInt(lowest, highest)
  return async () => {
    for (let tried = 0; tried < 100; tried++) {
      const port = next
      next = port + 1 < highest ? port + 1 : lowest
      if (await isPortFree(port)) return port
    }
    throw new Error(`No free port found on 127.0.0.1 between ${lowest} and ${highest}`)
  }
}

/** Finds a loopback port on which nothing listens. Within a process each call returns another port. */
export const freePort = createPortFinder(lowestPort, highestPort)

/** Returns the port in the file `directory/port` if it is free. Otherwise picks a new free port and writes it there. */
export async function loadOrPickPort(directory: string): Promise<number> {
  const file = join(directory, 'port')
  const kept = Number(await readFile(file, 'utf8').catch(() => ''))
  if (Number.isInteger(kept) && kept > 0 && kept < 65_536 && (await isPortFree(kept))) return kept

  const port = await freePort()
  await writeFile(file, `${port}\n`, { mode: 0o600 })
  return port
}

function isPortFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)))
  })
}

/**
 * The secret in the file `directory/name` (mode 0600): base64url of `bytes` random bytes, created by the first call.
 * Processes that call at the same time get the same secret.
 * @throws Error when the file belongs to another user or is empty.
 */
export async function loadOrCreateSecret(directory: string, name: string, bytes = 32): Promise<string> {
  const path = join(directory, name)
  return (await readSecret(path)) ?? (await makeSecret(directory, path, bytes))
}

async function readSecret(path: string): Promise<string | undefined> {
  try {
    const secret = (await readFile(path, 'utf8')).trim()
    if (!secret) throw new Error(`The secret file ${path} is empty: restore it, or remove it to get a new one`)
    return secret
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return undefined
    if (code === 'EACCES') throw new Error(`${path} belongs to another user: start as that user`, { cause: error })
    throw error
  }
}

/**
 * Writes and flushes the secret under another name, then links it. So a crash leaves no secret or a whole one, and the
 * first of several processes wins.
 */
async function makeSecret(directory: string, path: string, bytes: number): Promise<string> {
  await mkdir(directory, { recursive: true })
  const draft = `${path}.${process.pid}.${randomBytes(4).toString('hex')}`
  const file = await open(draft, 'wx', 0o600)
  try {
    await file.writeFile(randomBytes(bytes).toString('base64url'))
    await file.sync()
    await link(draft, path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    })
  } finally {
    await file.close()
    await rm(draft, { force: true })
  }
  return (await readSecret(path))!
}

/** The URL of the PostgreSQL that `startPostgres` runs in this directory; undefined when none was started there yet. */
export async function storedPostgresUrl(directory: string): Promise<string | undefined> {
  const [password, port] = await Promise.all(
    ['password', 'port'].map((name) => readFile(join(directory, name), 'utf8').catch(() => '')),
  )
  if (!password?.trim() || !port?.trim()) return undefined
  return `postgres://parley:${password.trim()}@127.0.0.1:${port.trim()}/parley`
}
