import { expect, test } from 'vitest'
import { restMs } from './projector.ts'

const next = (behind: number) => ({ more: behind > 0, behind })

test('it works an eighth of its time while it falls behind, a quarter while it catches up', () => {
  expect(restMs(100, 0, next(2_000))).toBe(700)
  expect(restMs(100, 2_000, next(4_000))).toBe(700)
  expect(restMs(100, 4_000, next(3_500))).toBe(300)
  expect(restMs(100, 3_500, next(3_500))).toBe(300)
})

test('with nothing left it looks four times a second at most', () => {
  expect(restMs(1, 3_500, next(0))).toBe(250)
  expect(restMs(100, 500, next(0))).toBe(300)
})
