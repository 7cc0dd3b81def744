import { randomBytes } from 'node:crypto'
import { access, constants, mkdir, readdir, rename, rm, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'

const repositoryCache = resolve(import.meta.dirname, '../../../.cache/parley')

const ABANDONED_AFTER_MS = 60 * 60 * 1_000

/**
 * Where fetched programs are kept when the caller names no place: in the checkout, so that start, tests and bench share them,
 * and in the user's own cache when the checkout belongs to somebody else. `name` is the entry asked for.
 */
export async function cachedEntry(
  name: string,
  cacheDirectory: string | undefined,
  make: (draft: string) => Promise<void>,
): Promise<string> {
  const places = cacheDirectory ? [cacheDirectory] : [repositoryCache, join(homedir(), '.cache/parley')]
  for (const place of places) {
    const entry = join(place, name)
    if (await exists(entry)) return entry
  }
  return makeEntry(await firstWritable(places), name, make)
}

/** Made beside its place and renamed into it: what is there is always whole, and of several makers at once the first wins. */
async function makeEntry(place: string, name: string, make: (draft: string) => Promise<void>): Promise<string> {
  const entry = join(place, name)
  await removeAbandonedDrafts(place)
  const draft = join(place, `.${name}.${process.pid}.${randomBytes(4).toString('hex')}`)
  await mkdir(draft, { recursive: true, mode: 0o755 })
  try {
    await make(draft)
    await rename(draft, entry).catch(async (error: NodeJS.ErrnoException) => {
      if (!(error.code === 'ENOTEMPTY' || error.code === 'EEXIST')) throw error
    })
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
  return entry
}

/** What a maker that was killed left; an hour is longer than any download is given. */
async function removeAbandonedDrafts(place: string): Promise<void> {
  for (const name of await readdir(place)) {
    const path = join(place, name)
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Date.now() }))
    if (name.startsWith('.') && Date.now() - mtimeMs > ABANDONED_AFTER_MS)
      await rm(path, { recursive: true, force: true })
  }
}

/** The first of these directories that exists or can be made, and that this process may write. */
async function firstWritable(places: readonly string[]): Promise<string> {
  for (const place of places) {
    const usable = await mkdir(place, { recursive: true, mode: 0o755 })
      .then(() => access(place, constants.W_OK | constants.X_OK))
      .then(
        () => true,
        () => false,
      )
    if (usable) return place
  }
  throw new Error(`No folder to keep programs in: none of ${places.join(', ')} can be written`)
}

export const exists = (path: string) =>
  stat(path).then(
    () => true,
    () => false,
  )
