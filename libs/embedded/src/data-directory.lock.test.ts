import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { lockDataDirectory } from './index.ts'

let directory: string

beforeEach(async () => {
  directory = join(await mkdtemp(join(tmpdir(), 'parley-lock-')), 'data')
})
afterEach(() => rm(join(directory, '..'), { recursive: true }))

test('a second lock is refused with the pid of the holder, until the first is released', async () => {
  const lock = await lockDataDirectory(directory)
  await expect(lockDataDirectory(directory)).rejects.toThrow(`in use by the process with pid ${process.pid}`)

  await lock.release()
  await lock.release()
  await (await lockDataDirectory(directory)).release()
})

test('of many at once one gets it', async () => {
  const tries = await Promise.allSettled(Array.from({ length: 10 }, () => lockDataDirectory(directory)))
  const locks = tries.flatMap((attempt) => (attempt.status === 'fulfilled' ? [attempt.value] : []))
  expect(locks).toHaveLength(1)
  expect((await stat(join(directory, 'launcher.lock'))).mode & 0o777).toBe(0o600)
  await locks[0]!.release()
})
