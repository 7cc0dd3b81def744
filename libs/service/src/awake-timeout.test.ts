import { once } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { expect, onTestFinished, test } from 'vitest'
import { timeoutWhileAwake } from './awake-timeout.ts'

const program = `
  const { parentPort } = require('node:worker_threads')
  parentPort.on('message', () => parentPort.postMessage('answer'))
`

test('an answer that arrives while the process is stopped is in time', async () => {
  const other = new Worker(program, { eval: true })
  onTestFinished(async () => void (await other.terminate()))
  await once(other, 'online')
  const answer = once(other, 'message', { signal: timeoutWhileAwake(200) })
  other.postMessage('question')
  // The turn of the event loop after an immediate begins with the timers.
  await setImmediate()
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_000)
  expect(await answer).toEqual(['answer'])
})

test('without an answer the signal is aborted', async () => {
  const signal = timeoutWhileAwake(20)
  await once(signal, 'abort')
  expect(signal.reason).toMatchObject({ name: 'TimeoutError', message: 'no answer within 20 ms' })
})
