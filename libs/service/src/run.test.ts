import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const env = {
  PATH: process.env.PATH,
  DATABASE_URL: 'postgres://nobody.invalid/parley',
  PARLEY_AUTH_JWT_SECRET: 'a secret of the tests, of more than 32 characters',
  PORT: '0',
}

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
    env: { ...env, NODE_COMPILE_CACHE: directory },
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

test('what a library writes to the console becomes a line of the log', async () => {
  const child = fork(join(import.meta.dirname, 'run-service.fixture.ts'), { execArgv: [], silent: true, env })
  const [output, errors] = [text(child.stdout!), text(child.stderr!)]
  await once(child, 'message')
  child.kill('SIGTERM')
  await once(child, 'exit')
  const lines = (await output).trim().split('\n')
  expect(lines.map((line) => JSON.parse(line))).toContainEqual(
    expect.objectContaining({
      level: 'warn',
      text: 'the policy is allkeys-lru',
      msg: 'a library wrote to the console',
    }),
  )
  expect(await errors).toBe('')
})

describe('an address that cannot be used is reported by its key', () => {
  const taken = createServer()
  beforeAll(async () => {
    await once(taken.listen(0, '127.0.0.1'), 'listening')
  })
  afterAll(() => taken.close())
  const takenPort = () => String((taken.address() as AddressInfo).port)

  test.each([
    ['server.port: is taken by another program (EADDRINUSE)', () => ({ PORT: takenPort() })],
    ['metrics.port: is taken by another program (EADDRINUSE)', () => ({ PARLEY_METRICS_PORT: takenPort() })],
    // An address of documentation (RFC 5737), which no machine has.
    [
      'server.host: is not an address of this machine (EADDRNOTAVAIL)',
      () => ({
        HOST: '192.0.2.1',
        PARLEY_AUTH_AUTH_MODE: 'password',
      }),
    ],
  ])('%s', async (fault, settings) => {
    const child = fork(join(import.meta.dirname, 'run-service.fixture.ts'), {
      execArgv: [],
      silent: true,
      env: { ...env, ...settings() },
    })
    const errors = text(child.stderr!)
    expect(await once(child, 'exit')).toEqual([1, null])
    expect(await errors).toBe(`The configuration has 1 fault:\n  ${fault}\n`)
  })
})
