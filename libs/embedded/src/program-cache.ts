import { randomBytes } from 'node:crypto'
import { access, constants, mkdir, readdir, rename, rm, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'

const repositoryCache = resolve(import.meta.dirname, '../../../.cache/parley')

const abandonedAfterMs = 60 * 60 * 1_000

/**
 * The path of the entry `name` in the cache of fetched programs. When it is missing, `make` fills a draft of it. The
 * cache is in the checkout, where start, tests and bench share it, or in the user's own cache when the checkout is
 * read-only.
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

/** The draft is renamed when it is complete, so an entry is always complete. Of several processes the first one wins. */
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

/** Removes the drafts of processes that were killed. No download takes an hour. */
async function removeAbandonedDrafts(place: string): Promise<void> {
  for (const name of await readdir(place)) {
    const path = join(place, name)
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Date.now() }))
    if (name.startsWith('.') && Date.now() - mtimeMs > abandonedAfterMs)
      await rm(path, { recursive: true, force: true })
  }
}

/** The first of these directories that this process can create or write. */
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
  throw new Error(`There is no folder for programs: none of ${places.join(', ')} can be written`)
}

export const exists = (path: string) =>
  stat(path).then(
    () => true,
    () => false,
  )
