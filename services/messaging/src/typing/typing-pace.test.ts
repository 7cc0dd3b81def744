import { expect, test } from 'vitest'
import { createThrottle } from './typing.routes.ts'

test('allows each key once in a period', () => {
  const mayPass = createThrottle(2_000, 100)
  expect([0, 1, 1_999, 2_000, 2_001, 4_000].map((now) => mayPass('a', now))).toEqual([
    true,
    false,
    false,
    true,
    false,
    true,
  ])
  expect(mayPass('b', 4_000)).toBe(true)
})

test('keeps a limited number of keys', () => {
  const mayPass = createThrottle(2_000, 2)
  for (const key of ['a', 'b', 'c']) expect(mayPass(key, 0)).toBe(true)
  expect(mayPass('c', 1)).toBe(false)
  expect(mayPass('a', 1)).toBe(true)
})
