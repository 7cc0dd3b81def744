import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type EmbeddedServer, type ServerExit, startRedis } from './index.ts'

let home: string
let directory: string
let redis: EmbeddedServer

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'parley-redis-'))
  directory = join(home, 'redis')
  redis = await startRedis({ directory, durable: true })
}, 300_000)

afterAll(async () => {
  await redis.stop()
  await rm(home, { recursive: true, force: true })
})

describe('an embedded Redis', () => {
  test('refuses a wrong password and none', async () => {
    const { port } = new URL(redis.url)
    await expect(ask((client) => client.ping(), `redis://:wrong@127.0.0.1:${port}`)).rejects.toThrow(/WRONGPASS|NOAUTH/)
    await expect(ask((client) => client.ping(), `redis://127.0.0.1:${port}`)).rejects.toThrow('NOAUTH')
    expect(await ask((client) => client.ping())).toBe('PONG')
  })

  test('evicts nothing, and keeps an append-only file', async () => {
    const settings = await ask((client) =>
      client.config('GET', 'maxmemory-policy', 'appendonly', 'appendfsync', 'bind'),
    )
    expect(settings).toEqual(
      expect.arrayContaining(['noeviction', 'appendonly', 'yes', 'appendfsync', 'everysec', 'bind', '127.0.0.1']),
    )
  })

  test('makes password, configuration and log readable only by their owner', async () => {
    for (const name of ['password', 'redis.conf', 'port', 'redis.log']) {
      expect((await stat(join(directory, name))).mode & 0o777).toBe(0o600)
    }
  })

  test('keeps its data, port and password after a restart', async () => {
    await ask((client) => client.set('note', 'stopped'))
    await redis.stop()
    await redis.stop()
    const { url } = redis
    redis = await startRedis({ directory, durable: true })
    expect(redis.url).toBe(url)
    expect(await ask((client) => client.get('note'))).toBe('stopped')
  }, 60_000)

  test('reports that it was killed, and restarts with its data', async () => {
    await ask((client) => client.set('note', 'killed'))
    const exit = new Promise<ServerExit>((resolve) => redis.onExit(resolve))
    redis.kill('SIGKILL')
    expect(await exit).toEqual({ code: null, signal: 'SIGKILL' })
    await redis.restart()
    expect(await ask((client) => client.get('note'))).toBe('killed')
  }, 60_000)

  test('stops after SIGSTOP', async () => {
    redis.kill('SIGSTOP')
    await redis.restart()
    expect(await ask((client) => client.ping())).toBe('PONG')
  }, 60_000)

  test('writes nothing to disk when it is not durable', async () => {
    const careless = await startRedis({ directory: join(home, 'careless'), durable: false })
    await ask((client) => client.set('note', 'gone'), careless.url)
    await careless.stop()
    expect(await readdir(join(home, 'careless', 'data'))).toEqual([])
  }, 60_000)
})

async function ask<T>(question: (client: Redis) => Promise<T>, url = redis.url): Promise<T> {
  const client = new Redis(url, { maxRetriesPerRequest: 0, retryStrategy: () => null })
  client.on('error', () => {})
  try {
    return await question(client)
  } finally {
    client.disconnect()
  }
}
