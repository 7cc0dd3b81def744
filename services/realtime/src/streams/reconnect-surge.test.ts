import { expect, test } from 'vitest'
import { createReconnectSurge } from './reconnect-surge.ts'

test('many streams within a second are a surge, until a second passes with fewer', () => {
  let now = 10_000
  let size = 1_000
  const surge = createReconnectSurge(
    () => size,
    () => now,
  )
  const open = (streams: number) => {
    for (let n = 0; n < streams; n++) surge.countOpened()
  }

  open(99)
  expect(surge.isOn()).toBe(false)
  open(1)
  expect(surge.isOn()).toBe(true)
  now += 500
  expect(surge.isOn()).toBe(true)
  now += 500
  expect(surge.isOn()).toBe(false)

  open(60)
  now += 500
  open(60)
  expect(surge.isOn()).toBe(true)
  now += 5_000
  open(60)
  expect(surge.isOn()).toBe(false)

  // On a large node this number of new streams is normal.
  size = 50_000
  now += 5_000
  open(499)
  expect(surge.isOn()).toBe(false)
  open(1)
  expect(surge.isOn()).toBe(true)
})
