import { expect, test } from 'vitest'
import { createStorm } from './storm.ts'

test('many streams within a second are a storm, until a second passes with fewer', () => {
  let now = 10_000
  const storm = createStorm(() => now)
  const open = (streams: number) => {
    for (let n = 0; n < streams; n++) storm.opened()
  }

  open(99)
  expect(storm.isOn()).toBe(false)
  open(1)
  expect(storm.isOn()).toBe(true)
  now += 500
  expect(storm.isOn()).toBe(true)
  now += 500
  expect(storm.isOn()).toBe(false)

  open(60)
  now += 500
  open(60)
  expect(storm.isOn()).toBe(true)
  now += 5_000
  open(60)
  expect(storm.isOn()).toBe(false)
})
