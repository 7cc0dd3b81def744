import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { createWindow } from './event-sources.ts'

const event = (pos: number, chars = 10) => ({
  pos,
  routing: { to: 'everyone' as const },
  trace: null,
  event: 'x'.repeat(chars),
})
const events = (first: number, last: number, chars?: number) =>
  Array.from({ length: last - first + 1 }, (_, index) => event(first + index, chars))
const positions = (found: { pos: number }[] | undefined) => found?.map(({ pos }) => pos)

test('keeps a limited number of events and knows which it dropped', () => {
  const window = createWindow(3, 1_000_000)
  window.add(events(1, 5))
  expect(positions(window.after(2, 10))).toEqual([3, 4, 5])
  expect(positions(window.after(2, 2))).toEqual([3, 4])
  expect(positions(window.after(5, 10))).toEqual([])
  expect(window.after(1, 10)).toBeUndefined()
})

test('keeps a limited number of bytes, and drops a single event above that', () => {
  const window = createWindow(1_000, 10_000)
  window.add(events(1, 20, 1_000))
  const kept = positions(window.after(19, 10))
  expect(kept).toEqual([20])
  expect(window.after(10, 10)).toBeUndefined()
  window.add([event(21, 20_000)])
  expect(window.after(20, 10)).toBeUndefined()
  window.add(events(22, 23))
  expect(positions(window.after(21, 10))).toEqual([22, 23])
})

test('lets go of an event as soon as it has dropped it', async () => {
  const window = createWindow(3, 1_000_000)
  const dropped = (() => {
    const first = event(1)
    window.add([first, ...events(2, 4)])
    return new WeakRef(first)
  })()
  setFlagsFromString('--expose-gc')
  const collectGarbage: () => void = runInNewContext('gc')
  await expect
    .poll(() => {
      collectGarbage()
      return dropped.deref() === undefined
    })
    .toBe(true)
  expect(positions(window.after(1, 10))).toEqual([2, 3, 4])
})
