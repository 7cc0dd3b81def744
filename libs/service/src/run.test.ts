import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'

test('a process that cannot stop logs which part it is waiting for, and exits', async () => {
  const child = fork(join(import.meta.dirname, 'run.fixture.ts'), { execArgv: [], silent: true })
  const output = text(child.stdout!)
  await once(child, 'message')
  const exit = once(child, 'exit')
  child.kill('SIGTERM')
  expect(await exit).toEqual([1, null])
  const [stopping, late] = (await output).trim().split('\n')
  expect(JSON.parse(stopping!)).toMatchObject({ level: 'info', signal: 'SIGTERM' })
  expect(JSON.parse(late!)).toMatchObject({ level: 'error', part: 'connections', seconds: 1 })
})

test('compiled code is kept before the service says that it is ready, so that a stop does not wait for it', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'parley-compiled-'))
  const compiled = async () =>
    (await readdir(directory, { recursive: true, withFileTypes: true })).filter((each) => each.isFile())
  const child = fork(join(import.meta.dirname, 'run-service.fixture.ts'), {
    execArgv: [],
    env: {
      PATH: process.env.PATH,
      NODE_COMPILE_CACHE: directory,
      DATABASE_URL: 'postgres://nobody.invalid/parley',
      REDIS_URL: 'redis://nobody.invalid',
      PARLEY_AUTH_JWT_SECRET: 'a secret of the tests, of more than 32 characters',
      PORT: '0',
    },
  })
  await once(child, 'message')
  const atReady = (await compiled()).length
  const exit = once(child, 'exit')
  child.kill('SIGTERM')
  expect(await exit).toEqual([0, null])
  expect(atReady).toBeGreaterThan(100)
  expect((await compiled()).length - atReady).toBeLessThan(atReady / 10)
  await rm(directory, { recursive: true })
})
