import { once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import tls, { createServer, type Server } from 'node:tls'
import { createLogger } from '@parley/telemetry'
import { createRedis, type TestRedis } from '@parley/test'
import { createCertifiedKey } from '@parley/test/certificates'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { RedisSettings } from './client.ts'
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

describe('a second error of a refused TLS connection does not end the process', () => {
  let refused: Server
  let address: string
  beforeAll(async () => {
    const { privateKey: key, certificate: cert } = createCertifiedKey()
    refused = createServer({ key, cert }).on('tlsClientError', () => {})
    await once(refused.listen(0, '127.0.0.1'), 'listening')
    address = `127.0.0.1:${(refused.address() as AddressInfo).port}`
  })
  afterAll(() => refused.close())
  const connects = (settings: RedisSettings) =>
    connectRedis({ settings, name: 'test', logger: createLogger({ service: 'test', level: 'silent' }) })
  const failsAgain = (socket: Socket) =>
    expect(() => socket.emit('error', new Error('an alert of the server'))).not.toThrow()

  test('to a single server', async () => {
    const redis = connects({ url: `rediss://${address}` })
    const copy = redis.duplicate().on('error', () => {})
    for (const connection of [redis, copy]) {
      await new Promise((resolve) => connection.once('reconnecting', resolve))
      failsAgain(connection.stream as Socket)
      connection.disconnect()
    }
  })

  test('to a Sentinel', async () => {
    const connecting = vi.spyOn(tls, 'connect')
    onTestFinished(() => connecting.mockRestore())
    const redis = connects({ sentinels: [address], sentinelName: 'chat', tls: { enabled: true } })
    await once(redis, 'error').catch(([error]) => error)
    redis.disconnect()
    const [socket] = connecting.mock.results.map(({ value }) => value as Socket)
    failsAgain(socket!)
  })
})
