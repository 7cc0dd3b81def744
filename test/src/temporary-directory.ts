import { chmod, mkdtemp, rm, statfs } from 'node:fs/promises'
import path from 'node:path'

/** The file system that Linux keeps in memory for every process. */
const inMemory = '/dev/shm'
const neededBytes = 6 * 2 ** 30

/**
 * Moves the temporary files of this process and its children into memory, if there is enough of it. Many servers run at
 * once in the tests, and on a slow disk all of them would wait for the writes of one. An existing `TMPDIR` is not
 * changed. @returns a function that removes the directory.
 */
export async function keepTemporaryFilesInMemory(): Promise<() => Promise<void>> {
  if (process.env.TMPDIR !== undefined || (await freeBytes()) < neededBytes) return async () => {}
  const directory = await mkdtemp(path.join(inMemory, 'parley-tests-'))
  // The same mode as /tmp: when root starts it, PostgreSQL runs as another user.
  await chmod(directory, 0o1777)
  process.env.TMPDIR = directory
  return async () => {
    delete process.env.TMPDIR
    await rm(directory, { recursive: true, force: true })
  }
}

/** The free bytes in memory; 0 when there is no such file system. */
async function freeBytes(): Promise<number> {
  const found = await statfs(inMemory).catch(() => undefined)
  return found ? Math.min(found.bavail * found.bsize, process.availableMemory()) : 0
}
