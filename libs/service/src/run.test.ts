import { fork } from 'node:child_process'
import { once } from 'node:events'
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
