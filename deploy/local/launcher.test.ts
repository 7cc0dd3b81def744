import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { run, temporaryDirectory } from './launcher.testing.ts'

test.each([
  ['hangs', 'Not everything ended in time. Still running: the service.\n'],
  ['fails', 'The stop of the service failed: its files are gone\n'],
])('when the stop of a service %s, everything else stops', { timeout: 60_000 }, async (stop, message) => {
  const child = fork(join(import.meta.dirname, 'launcher.fixture.ts'), [stop], { execArgv: [], silent: true })
  const [output, errors] = [text(child.stdout!), text(child.stderr!)]
  await once(child, 'message')
  const exit = once(child, 'exit')
  child.kill('SIGTERM')
  expect(await exit).toEqual([1, null])
  expect(await output).toContain('The database has ended')
  expect(await errors).toBe(message)
})

test.each(['start', 'cluster'] as const)(
  'npm run %s -- --version prints the version and starts nothing',
  async (script) => {
    const directory = temporaryDirectory()
    const { exit, output } = run(script, directory, ['--version'])
    expect(await exit).toEqual({ code: 0, signal: null })
    expect(output()).toMatch(/^Parley \d+\.\d+\.\d+\n$/)
    expect(await readdir(directory)).toEqual([])
    await rm(directory, { recursive: true })
  },
)
