import { chmod, mkdtemp, rm, statfs } from 'node:fs/promises'
import path from 'node:path'

/** The file system that Linux keeps in memory for every process. */
const inMemory = '/dev/shm'
const neededBytes = 6 * 2 ** 30

/**
 * Lets this process and those that it starts keep their temporary files in memory, where there is enough of it. Many servers run at
 * once in the tests. On a slow disk they would all wait for what one of them writes. A `TMPDIR` of the environment is used as it is.
 * @returns removes the directory.
 */
export async function keepTemporaryFilesInMemory(): Promise<() => Promise<void>> {
  if (process.env.TMPDIR !== undefined || (await freeBytes()) < neededBytes) return async () => {}
  const directory = await mkdtemp(path.join(inMemory, 'parley-tests-'))
  // As /tmp is: PostgreSQL runs as another user when root starts it.
  await chmod(directory, 0o1777)
  process.env.TMPDIR = directory
  return async () => {
    delete process.env.TMPDIR
    await rm(directory, { recursive: true, force: true })
  }
}

/** 0 where there is no such file system. */
async function freeBytes(): Promise<number> {
  const found = await statfs(inMemory).catch(() => undefined)
  return found ? Math.min(found.bavail * found.bsize, process.availableMemory()) : 0
}
