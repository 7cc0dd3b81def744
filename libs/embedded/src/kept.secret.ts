import { randomBytes } from 'node:crypto'
import { link, mkdir, open, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * A random secret that is made once and then kept: base64url of `bytes` random bytes in the file `directory/name`, mode 0600.
 * Several processes may ask at once; all get the same secret. Throws when the file belongs to somebody else or is empty.
 */
export async function keptSecret(directory: string, name: string, bytes = 32): Promise<string> {
  const path = join(directory, name)
  return (await readSecret(path)) ?? (await makeSecret(directory, path, bytes))
}

async function readSecret(path: string): Promise<string | undefined> {
  try {
    const secret = (await readFile(path, 'utf8')).trim()
    if (!secret) throw new Error(`The secret file ${path} is empty: restore it, or remove it to have a new one made`)
    return secret
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return undefined
    if (code === 'EACCES') throw new Error(`${path} belongs to another user: start as that user`, { cause: error })
    throw error
  }
}

/** Written and flushed beside its place, then linked into it: a crash leaves either no secret or a whole one, and the first of several wins. */
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
