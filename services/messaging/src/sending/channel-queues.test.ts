import { describe, expect, test } from 'vitest'
import { createWaitingLines } from './channel-queues.ts'
import type { Sending } from './sending.ts'

const sending = (channelId: string, id: string) => ({ channelId, id }) as Sending
const ids = (batch: readonly Sending[]) => batch.map(({ id }) => id)

describe('waiting lines', () => {
  test('a busy channel does not starve the others', () => {
    const lines = createWaitingLines()
    for (let i = 0; i < 100; i++) lines.add(sending('busy', `b${i}`))
    for (let i = 0; i < 6; i++) lines.add(sending(`quiet ${i}`, `q${i}`))
    const first = lines.draw(8)
    expect(ids(first.batch)).toEqual(['b0', 'b1', 'q0', 'q1', 'q2', 'q3', 'q4', 'q5'])
    expect(lines.hasReady).toBe(false)
    lines.release(first.lines, [])
    expect(ids(lines.draw(8).batch)).toEqual(['b2', 'b3', 'b4', 'b5', 'b6', 'b7', 'b8', 'b9'])
    expect(lines.size).toBe(90)
  })

  test('a channel being sent to is not drawn again before its release; what must be tried again goes first', () => {
    const lines = createWaitingLines()
    lines.add(sending('a', '1'))
    lines.add(sending('a', '2'))
    const drawn = lines.draw(10)
    lines.add(sending('a', '3'))
    expect(lines.hasReady).toBe(false)
    lines.release(drawn.lines, [{ sending: drawn.batch[1]!, outcome: 'moved' }])
    expect(ids(lines.draw(10).batch)).toEqual(['2', '3'])
  })

  test('a channel that others have locked waits apart, until it relents or is served', () => {
    const lines = createWaitingLines()
    lines.add(sending('a', '1'))
    lines.add(sending('b', '2'))
    const drawn = lines.draw(10)
    lines.release(
      drawn.lines,
      drawn.batch.map((each) => ({ sending: each, outcome: 'busy' as const })),
    )
    expect(lines).toMatchObject({ hasReady: false, hasContended: true, size: 2 })
    const apart = lines.drawContended(10)
    expect(ids(apart.batch)).toEqual(['1'])
    lines.relent()
    expect(ids(lines.draw(10).batch)).toEqual(['2'])
    lines.release(apart.lines, [])
    expect(lines).toMatchObject({ hasReady: false, hasContended: false, size: 0 })
  })

  test('what nobody waits for any more is dropped', () => {
    const lines = createWaitingLines()
    lines.add(sending('a', '1'))
    lines.add(sending('a', '2'))
    lines.retain(({ id }) => id === '2')
    expect(lines.size).toBe(1)
    expect(ids(lines.draw(10).batch)).toEqual(['2'])
  })
})
