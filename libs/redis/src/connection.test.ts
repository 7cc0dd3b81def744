import { once } from 'node:events'
import { createLogger } from '@parley/telemetry'
import { createRedis, type TestRedis } from '@parley/test'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectRedis, readyOrUnavailable } from './connection.ts'

let server: TestRedis
beforeAll(async () => {
  server = await createRedis()
})
afterAll(() => server.discard())

test('reconnects when the master became a replica', async () => {
  const redis = connectRedis({
    settings: { url: server.url },
    name: 'test',
    logger: createLogger({ service: 'test', level: 'silent' }),
  })
  await once(redis, 'ready')
  const before = await redis.client('ID')
  await redis.replicaof('127.0.0.1', 1)

  const again = once(redis, 'ready')
  await expect(redis.publish('channel', 'text').then(() => redis.set('key', 'value'))).rejects.toThrow()
  await again
  expect(await redis.client('ID')).not.toBe(before)
  redis.disconnect()
})

test('Redis is unavailable between two connection attempts, also when no further attempt follows', async () => {
  const redis = connectRedis({
    settings: { url: 'redis://127.0.0.1:1' },
    name: 'test',
    logger: createLogger({ service: 'test', level: 'silent' }),
  })
  await new Promise((resolve) => redis.once('reconnecting', resolve))
  const asked = readyOrUnavailable(redis)
  redis.disconnect()
  await asked
})
