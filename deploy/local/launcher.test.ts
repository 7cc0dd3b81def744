import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'

test('what does not end keeps nothing else running', { timeout: 30_000 }, async () => {
  const child = fork(join(import.meta.dirname, 'launcher.fixture.ts'), { execArgv: [], silent: true })
  const [output, errors] = [text(child.stdout!), text(child.stderr!)]
  await once(child, 'message')
  const exit = once(child, 'exit')
  child.kill('SIGTERM')
  expect(await exit).toEqual([1, null])
  expect(await output).toContain('The database has ended')
  expect(await errors).toContain('Not everything ended in time')
})
