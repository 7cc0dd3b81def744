import { expect, test } from 'vitest'
import { nextBatchSize, restMs } from './projector.ts'

/** A step of 100 ms that projected 500 messages, one second after the previous one. */
const step = (before: number, behind: number) =>
  restMs({ spentMs: 100, elapsedMs: 1_000, before }, { more: behind > 0, messages: 500, behind })

test('it works a quarter of its time while it catches up, an eighth while it falls behind', () => {
  expect(step(4_000, 3_500)).toBe(300)
  expect(step(3_500, 3_500)).toBe(300)
  expect(step(0, 2_000)).toBe(700)
  expect(step(2_000, 6_500)).toBe(700)
})

test('it works a thirtieth of its time while more arrives than it could handle without pauses', () => {
  expect(step(2_000, 6_600)).toBe(2_900)
  expect(step(6_600, 6_100)).toBe(300)
})

test('with no work left it looks at most four times a second', () => {
  expect(restMs({ spentMs: 1, elapsedMs: 1_000, before: 3_500 }, { more: false, messages: 500, behind: 0 })).toBe(250)
  expect(step(500, 0)).toBe(300)
})

test('a step that failed or took long is followed by a smaller one, and quick steps by larger ones', () => {
  const done = { messages: 100 }
  expect(nextBatchSize(500, 30_000, undefined)).toBe(125)
  expect(nextBatchSize(500, 10_000, done)).toBe(125)
  expect(nextBatchSize(1, 10_000, done)).toBe(1)
  expect(nextBatchSize(125, 3_000, done)).toBe(125)
  expect(nextBatchSize(125, 500, done)).toBe(250)
  expect(nextBatchSize(400, 500, done)).toBe(500)
})

test('a step that leaves the work to another worker does not change the size', () => {
  expect(nextBatchSize(31, 1, { messages: 0 })).toBe(31)
})
