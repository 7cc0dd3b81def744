import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import { findProcesses } from './processes.ts'

test('a fork that still has the command line of its parent is not found as another process', async () => {
  const path = `/path/of/${crypto.randomUUID()}`
  const script = 'exec 3<&0; (echo forked; read line; :) <&3 & wait'
  const shell = spawn('sh', ['-c', script, 'sh', path], { stdio: ['pipe', 'pipe', 'inherit'] })
  onTestFinished(() => void shell.stdin.end())
  await once(shell.stdout, 'data')

  expect(await findProcesses('sh', path)).toEqual([shell.pid])
})
