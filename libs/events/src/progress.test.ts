import { describe, expect, test } from 'vitest'
import { createProgress, type SeenStep } from './progress.ts'

const step = (given: Partial<SeenStep>): SeenStep => ({
  ids: [],
  pos: 0,
  xid: null,
  xmin: 0,
  isPartial: false,
  ...given,
})

describe('progress', () => {
  test('keeps missing ids as holes until they arrive', () => {
    const progress = createProgress({ id: 10, pos: 3 }, [])
    progress.advance(step({ ids: [11, 15, 16, 20], pos: 7, xid: 100, xmin: 90 }))
    expect(progress.holes).toEqual([
      { first: 12, last: 14 },
      { first: 17, last: 19 },
    ])

    progress.advance(step({ ids: [13, 17, 22], pos: 10, xid: 110, xmin: 95 }))
    expect(progress).toMatchObject({ high: 22, low: { id: 10, pos: 3 } })
    expect(progress.holes).toEqual([
      { first: 12, last: 12 },
      { first: 14, last: 14 },
      { first: 18, last: 19 },
      { first: 21, last: 21 },
    ])
  })

  test('settles the ids of a step when all transactions before that step are finished', () => {
    const progress = createProgress({ id: 0, pos: 0 }, [])
    progress.advance(step({ ids: [2, 4], pos: 2, xid: 100, xmin: 90 }))
    progress.advance(step({ ids: [7], pos: 3, xid: 101, xmin: 99 }))
    expect(progress.low).toEqual({ id: 0, pos: 0 })

    progress.advance(step({ xmin: 100, pos: 3 }))
    expect(progress.low).toEqual({ id: 4, pos: 2 })
    expect(progress.holes).toEqual([{ first: 5, last: 6 }])
  })

  test('settles nothing after a partial step, because it did not read all visible rows', () => {
    const progress = createProgress({ id: 0, pos: 0 }, [])
    progress.advance(step({ ids: [2], pos: 1, xid: 100, xmin: 90 }))
    progress.advance(step({ ids: [3], pos: 2, xid: 101, xmin: 101, isPartial: true }))
    expect(progress.low.id).toBe(0)
  })

  test('begins a term with the holes of the previous one', () => {
    const progress = createProgress({ id: 5, pos: 9 }, [9, 4, 7, 8])
    expect(progress).toMatchObject({ high: 9, low: { id: 5, pos: 9 }, holes: [{ first: 6, last: 6 }] })
  })

  test('does not settle the highest id of an earlier term before its own transaction number allows it', () => {
    const progress = createProgress({ id: 5, pos: 9 }, [9])
    progress.advance(step({ xmin: 1_000, pos: 10 }))
    expect(progress.low.id).toBe(5)
    progress.advance(step({ xid: 1_000, xmin: 1_000, pos: 10 }))
    progress.advance(step({ xmin: 1_000, pos: 10 }))
    expect(progress.low).toEqual({ id: 9, pos: 10 })
  })
})
