import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { lockDataDirectory } from './index.ts'

let home: string
let directory: string

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'parley-lock-'))
  directory = join(home, 'data')
})
afterEach(() => rm(home, { recursive: true }))

test('a second lock is refused with the pid of the holder, until the first is released', async () => {
  const lock = await lockDataDirectory(directory)
  await expect(lockDataDirectory(directory)).rejects.toThrow(`in use by the process with pid ${process.pid}`)

  await lock.release()
  await lock.release()
  await (await lockDataDirectory(directory)).release()
})

test('one of several concurrent calls gets the lock', async () => {
  const tries = await Promise.allSettled(Array.from({ length: 10 }, () => lockDataDirectory(directory)))
  const locks = tries.flatMap((attempt) => (attempt.status === 'fulfilled' ? [attempt.value] : []))
  expect(locks).toHaveLength(1)
  expect((await stat(join(directory, 'launcher.lock'))).mode & 0o777).toBe(0o600)
  await locks[0]!.release()
})

test.each([
  ['a file has its name', async () => writeFile(directory, ''), () => `${directory} is not a directory`],
  [
    'a file lies on the way to it',
    async () => {
      await writeFile(directory, '')
      directory = join(directory, 'deeper')
    },
    () => 'is not a directory. Please move that file',
  ],
  [
    'its lock file is a directory',
    async () => mkdir(join(directory, 'launcher.lock'), { recursive: true }),
    () => `${join(directory, 'launcher.lock')} is a directory`,
  ],
])('when %s, the error names the directory and what to do', async (_what, spoil, words) => {
  await spoil()
  const refusal: Error = await lockDataDirectory(directory).then(
    () => new Error('no error was thrown'),
    (error) => error,
  )
  expect(refusal.message).toContain(`The data directory ${directory} cannot be used: `)
  expect(refusal.message).toContain(words())
  expect(refusal.message).toContain('PARLEY_DATA_DIR')
})
