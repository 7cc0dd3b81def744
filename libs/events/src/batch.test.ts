import { describe, expect, test } from 'vitest'
import { batchAfter, decodeBatch, decodeLines, encodeBatch, joinBatches, readHeader, splitBatch } from './batch.ts'

const batch = {
  first: 41,
  count: 3,
  lines: '{"to":"everyone"}\t\t{"a":1}\n{"to":"nobody"}\tt\t\n{"to":"everyone"}\t\t{"b":2}',
  recordedAt: 1_790_000_000_000,
}
const { recordedAt } = batch

describe('a batch as text', () => {
  test('is read as it was written', () => {
    const text = encodeBatch('abc', batch)
    expect(readHeader(text)).toEqual({ epoch: 'abc', first: 41, last: 43, recordedAt })
    expect(decodeBatch(text)).toEqual([
      { pos: 41, routing: { to: 'everyone' }, trace: null, event: '{"a":1}', recordedAt },
      { pos: 42, routing: { to: 'nobody' }, trace: 't', event: null, recordedAt },
      { pos: 43, routing: { to: 'everyone' }, trace: null, event: '{"b":2}', recordedAt },
    ])
  })

  test('is read without the time of recording too', () => {
    expect(decodeBatch('abc 7 1\n{"to":"nobody"}\t\t')).toEqual([
      { pos: 7, routing: { to: 'nobody' }, trace: null, event: null },
    ])
  })

  test.each(['', 'abc', 'abc x 3\n', 'abc 5 0\n'])('is refused when it is malformed: %j', (text) => {
    expect(() => readHeader(text)).toThrow('not a batch')
  })

  test('is refused when a line is missing', () => {
    expect(() => decodeLines({ ...batch, count: 4 })).toThrow('differs from its header')
  })

  test('is cut into parts that together are the whole', () => {
    const parts = splitBatch(batch, 30)
    expect(parts.map(({ first, count }) => [first, count])).toEqual([
      [41, 1],
      [42, 1],
      [43, 1],
    ])
    expect(joinBatches(parts)).toEqual(batch)
  })

  test('returns the part after a position', () => {
    expect(batchAfter(batch, 40)).toEqual(batch)
    expect(batchAfter(batch, 42)).toEqual({ first: 43, count: 1, lines: batch.lines.split('\n')[2], recordedAt })
    expect(batchAfter(batch, 43)).toBeUndefined()
  })
})
