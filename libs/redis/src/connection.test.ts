import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:tls'
import { createLogger } from '@parley/telemetry'
import { createRedis, type TestRedis } from '@parley/test'
import { createCertifiedKey } from '@parley/test/certificates'
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

test('a second error of a refused TLS connection does not end the process', async () => {
  const { privateKey: key, certificate: cert } = createCertifiedKey()
  const refused = createServer({ key, cert }).on('tlsClientError', () => {})
  await once(refused.listen(0, '127.0.0.1'), 'listening')
  const { port } = refused.address() as AddressInfo
  const redis = connectRedis({
    settings: { url: `rediss://127.0.0.1:${port}` },
    name: 'test',
    logger: createLogger({ service: 'test', level: 'silent' }),
  })
  const copy = redis.duplicate().on('error', () => {})
  for (const connection of [redis, copy]) {
    await new Promise((resolve) => connection.once('reconnecting', resolve))
    expect(() => connection.stream.emit('error', new Error('an alert of the server'))).not.toThrow()
    connection.disconnect()
  }
  refused.close()
})
