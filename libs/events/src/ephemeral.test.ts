import { everyone } from '@parley/contract'
import { createLogger, createMetrics } from '@parley/telemetry'
import { createRedis, type TestRedis } from '@parley/test'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { createEphemeralFeed, createEphemeralPublisher, type EphemeralEvent } from './ephemeral.ts'

const logger = createLogger({ service: 'test', level: 'silent' })
let redis: TestRedis
beforeAll(async () => {
  redis = await createRedis()
})
afterAll(() => redis.discard())

const typing = (userName: string) =>
  ({ type: 'TYPING', payload: { channelId: 'c', userId: 'u', userName }, routing: everyone }) as const

test('events reach every follower; while Redis is unavailable they are dropped and counted', async () => {
  const metrics = createMetrics({ service: 'test' })
  const got: EphemeralEvent[] = []
  const feed = createEphemeralFeed({ redis: { url: redis.url }, logger, onEvent: (event) => void got.push(event) })
  const publisher = createEphemeralPublisher({ redis: { url: redis.url }, logger, metrics })
  onTestFinished(() => {
    feed.close()
    publisher.close()
    return metrics.close()
  })
  await feed.start()
  const names = () => got.map(({ event }) => JSON.parse(event).payload.userName)
  const arrives = (name: string) =>
    vi.waitFor(
      () => {
        publisher.publish(typing(name))
        expect(names()).toContain(name)
      },
      { timeout: 20_000, interval: 50 },
    )
  const dropped = async () => Number(/^parley_ephemeral_dropped_total\S* (\d+)/m.exec(await metrics.text())?.[1] ?? 0)

  await arrives('ann\tor "bob"\n')
  expect(got[0]).toEqual({ routing: everyone, event: expect.stringContaining('"type":"TYPING"') })
  const before = await dropped()
  await redis.kill('SIGKILL')
  const isDropped = async () => {
    publisher.publish(typing('nobody'))
    expect(await dropped()).toBeGreaterThan(before)
  }
  await vi.waitFor(isDropped, { timeout: 20_000, interval: 50 })
  await redis.restart()
  await arrives('cat')
  expect(names()).not.toContain('nobody')
})
