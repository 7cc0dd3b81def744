/** Ports and secrets, which are created once and stored in the data directory, so that they survive a restart. */
import { randomBytes, randomInt } from 'node:crypto'
import { link, mkdir, open, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'

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
