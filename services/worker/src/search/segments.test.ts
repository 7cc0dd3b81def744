import { describe, expect, test } from 'vitest'
import { divide, type Segment } from './segments.ts'

const empty: Segment = { segment: 1, fromAt: 0, firstAt: null, lastAt: null, size: 0 }

/**
 * Places messages one after the other, each one with the stored segments before it. Returns the segments in the order
 * of time.
 */
function placed(moments: readonly number[], fullSize: number): { segments: Segment[]; of: number[] } {
  let segments = [empty]
  const of: number[] = []
  for (const moment of moments) {
    const divided = divide(segments, fullSize)
    of.push(divided.place(moment))
    const changed = new Map(divided.changed().map((each) => [each.segment, each]))
    segments = [...segments.filter(({ segment }) => !changed.has(segment)), ...changed.values()]
  }
  return { segments: segments.sort((a, b) => a.fromAt - b.fromAt), of }
}

describe('dividing time into segments', () => {
  test.each<[string, number[]]>([
    ['forwards', [10, 11, 12, 13, 14, 15, 16]],
    ['backwards, as history is read', [16, 15, 14, 13, 12, 11, 10]],
    ['from the middle to both sides', [13, 14, 12, 15, 11, 16, 10]],
    ['with latecomers', [10, 20, 30, 40, 15, 25, 35, 12, 50]],
    ['all in the same millisecond', [10, 10, 10, 10, 10]],
  ])('%s: each message lies in the stretch of its segment', (_order, moments) => {
    const { segments, of } = placed(moments, 2)
    moments.forEach((moment, index) => {
      const place = segments.findIndex(({ segment }) => segment === of[index])
      expect(segments[place]!.fromAt).toBeLessThanOrEqual(moment)
      expect(segments[place + 1]?.fromAt ?? Infinity).toBeGreaterThan(moment)
    })
    expect(segments[0]!.fromAt).toBe(0)
    expect(segments.reduce((sum, { size }) => sum + size, 0)).toBe(moments.length)
  })

  test.each([
    ['forwards', [1, 2, 3, 4, 5, 6]],
    ['backwards', [6, 5, 4, 3, 2, 1]],
  ])('a full one is closed: %s', (_order, moments) => {
    expect(placed(moments, 2).segments.map(({ size }) => size)).toEqual([2, 2, 2])
  })

  test('within one step too', () => {
    const divided = divide([empty], 2)
    expect([5, 6, 7, 8, 9, 1].map(divided.place)).toEqual([1, 1, 2, 2, 3, 4])
  })
})
