import { expect, onTestFinished, test } from 'vitest'
import { createSleepWatch } from './sleep-watch.ts'

/** Stops this process, like SIGSTOP from its own view. */
const sleep = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_600)

test('after a sleep nothing is written before the streams of ended sessions have ended, also when this fails at first', async () => {
  let tries = 0
  const watch = createSleepWatch(async () => {
    if (++tries < 3) throw new Error('the database is unavailable')
  })
  watch.start()
  onTestFinished(watch.stop)
  await watch.untilAwake()
  expect([watch.isAwake(), tries, watch.wakings]).toEqual([true, 0, 0])

  sleep()
  expect(watch.isAwake()).toBe(false)
  await Promise.all([watch.untilAwake(), watch.untilAwake()])
  expect([watch.isAwake(), tries, watch.wakings]).toEqual([true, 3, 1])
})

test('wakes up by itself', async () => {
  let tries = 0
  const watch = createSleepWatch(async () => void tries++)
  watch.start()
  onTestFinished(watch.stop)
  sleep()
  await expect.poll(() => [watch.isAwake(), tries]).toEqual([true, 1])
})
