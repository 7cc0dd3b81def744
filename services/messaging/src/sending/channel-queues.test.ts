import { describe, expect, test } from 'vitest'
import { createChannelQueues } from './channel-queues.ts'
import type { Sending } from './sending.ts'

const sending = (channelId: string, id: string) => ({ channelId, id }) as Sending
const ids = (batch: readonly Sending[]) => batch.map(({ id }) => id)

describe('channel queues', () => {
  test('a busy channel does not starve the others', () => {
    const queues = createChannelQueues()
    for (let i = 0; i < 100; i++) queues.add(sending('busy', `b${i}`))
    for (let i = 0; i < 6; i++) queues.add(sending(`quiet ${i}`, `q${i}`))
    const first = queues.take(8)
    expect(ids(first.batch)).toEqual(['b0', 'b1', 'q0', 'q1', 'q2', 'q3', 'q4', 'q5'])
    expect(queues.hasReady).toBe(false)
    queues.release(first.queues, [])
    expect(ids(queues.take(8).batch)).toEqual(['b2', 'b3', 'b4', 'b5', 'b6', 'b7', 'b8', 'b9'])
    expect(queues.size).toBe(90)
  })

  test('a taken channel is not taken again before its release, and sends to retry come first', () => {
    const queues = createChannelQueues()
    queues.add(sending('a', '1'))
    queues.add(sending('a', '2'))
    const taken = queues.take(10)
    queues.add(sending('a', '3'))
    expect(queues.hasReady).toBe(false)
    queues.release(taken.queues, [{ sending: taken.batch[1]!, outcome: 'moved' }])
    expect(ids(queues.take(10).batch)).toEqual(['2', '3'])
  })

  test('a contended channel waits separately until it is retried or served', () => {
    const queues = createChannelQueues()
    queues.add(sending('a', '1'))
    queues.add(sending('b', '2'))
    const taken = queues.take(10)
    queues.release(
      taken.queues,
      taken.batch.map((each) => ({ sending: each, outcome: 'busy' as const })),
    )
    expect(queues).toMatchObject({ hasReady: false, hasContended: true, size: 2 })
    const apart = queues.takeContended(10)
    expect(ids(apart.batch)).toEqual(['1'])
    queues.retryContended()
    expect(ids(queues.take(10).batch)).toEqual(['2'])
    queues.release(apart.queues, [])
    expect(queues).toMatchObject({ hasReady: false, hasContended: false, size: 0 })
  })

  test('sends that are not retained are dropped', () => {
    const queues = createChannelQueues()
    queues.add(sending('a', '1'))
    queues.add(sending('a', '2'))
    queues.retain(({ id }) => id === '2')
    expect(queues.size).toBe(1)
    expect(ids(queues.take(10).batch)).toEqual(['2'])
  })
})
