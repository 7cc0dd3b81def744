import { describe, expect, it } from 'vitest'
import { type Costs, predict, reachOf, type Used } from './model.ts'

const nothing: Used = { gateway: 0, messaging: 0, worker: 0, realtime: 0, postgres: 0, redis: 0 }
const reading = { processorUs: { ...nothing, messaging: 1_000 }, events: 0, commits: 1, flushes: 0, responseBytes: 100 }
const posting = { processorUs: { ...nothing, postgres: 500 }, events: 1, commits: 1, flushes: 1, responseBytes: 0 }
const costs: Costs = {
  actions: { read: reading, post: posting },
  delivery: { ...nothing, realtime: 100, gateway: 50 },
  step: { ...nothing, worker: 1_000, realtime: 1_600 },
  furtherNodeUs: 800,
  idle: { ...nothing, realtime: 100_000 },
  streamBytes: 1_000,
  eventBytes: 10,
}
const readers = { perSecond: { read: 1, post: 0 }, deliveries: {} }
const posters = { perSecond: { read: 0, post: 0.1 }, deliveries: { post: 10 } }

describe('predict', () => {
  it('finds as many processes as use 60 % of a processor', () => {
    expect(predict(costs, readers, 600).processes).toMatchObject({ messaging: 1, gateway: 1 })
    expect(predict(costs, readers, 1_801).processes).toMatchObject({ messaging: 4, gateway: 1 })
  })

  it('has each realtime node read every event', () => {
    // Of the 60 % of a processor that a process may use, 10 % are used when nothing happens and 10 % for 62.5 steps of
    // the relay. 1,000 events for 10 streams each use a whole processor.
    const { processes, processors } = predict(costs, posters, 10_000)
    expect(processes.realtime).toBe(3)
    expect(processors.realtime).toBeCloseTo(1 + 3 * (0.1 + 0.1))
    expect(processors.redis).toBeCloseTo(2 * 62.5 * 0.0008)
  })

  it('finds no number of realtime nodes when reading alone is too much for one', () => {
    const slow = { ...costs, step: { ...costs.step, realtime: 9_000 } }
    expect(predict(slow, posters, 10_000).processes.realtime).toBeUndefined()
  })

  it('adds up what clients and PostgreSQL do', () => {
    expect(predict(costs, posters, 10_000)).toMatchObject({
      requestsPerSecond: 1_000,
      eventsPerSecond: 1_000,
      commitsPerSecond: 1_000,
      flushesPerSecond: 1_000,
      megabytesPerSecond: 0.1,
    })
  })
})

describe('reachOf', () => {
  it('begins with the limit that is reached first', () => {
    const withoutReading = { ...costs, furtherNodeUs: 0, idle: nothing, delivery: nothing }
    const [first, second] = reachOf(withoutReading, posters)
    expect(first).toMatchObject({ name: 'PostgreSQL, 10,000 flushes of the log a second' })
    expect(first!.people / 100_000).toBeCloseTo(1, 1)
    expect(second!.people).toBeGreaterThan(first!.people)
  })
})
