import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { audienceOf, everyone, type Routing } from '@parley/contract'
import { type EmbeddedServer, startPostgres } from '@parley/embedded'
import { connectRedis, redisNames } from '@parley/redis'
import { createLogger } from '@parley/telemetry'
import { prepareDatabase } from '@parley/test'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { openTestServer, type ServerDatabase, type TestNode, type TestServer } from './testing/test-server.ts'

let postgres: EmbeddedServer
let server: TestServer
let node: TestNode

beforeAll(async () => {
  server = await openTestServer(ownDatabase)
  node = await server.startNode()
})
afterAll(() => server.close())

/** A PostgreSQL of its own, which may go away without disturbing other tests. */
async function ownDatabase(): Promise<ServerDatabase> {
  const directory = await mkdtemp(join(tmpdir(), 'parley-realtime-'))
  postgres = await startPostgres({ directory, durable: false })
  const database = await prepareDatabase(postgres.url, 20)
  const drop = async () => {
    await database.close()
    await postgres.stop()
    await rm(directory, { recursive: true, force: true })
  }
  return { ...database, drop }
}

/** A line of a batch, as the relay publishes it. */
const lineOf = (routing: Routing, name: string) =>
  `${JSON.stringify(routing)}\t\t${JSON.stringify({ type: 'UPDATE_SERVER_SETTINGS', payload: { name } })}`

/** A leader of the relay that publishes from the current position, also while PostgreSQL is unavailable. */
async function openPublisher() {
  const { epoch, pos } = await server.db.selectFrom('relayLease').selectAll().executeTakeFirstOrThrow()
  const redis = connectRedis({
    settings: { url: server.redis.url },
    name: 'test',
    logger: createLogger({ service: 'test', level: 'silent' }),
  })
  await once(redis, 'ready')
  let last = pos
  return {
    async publish(...lines: string[]) {
      await redis.publish(redisNames().events, `${epoch} ${last + 1} ${lines.length}\n${lines.join('\n')}`)
      last += lines.length
    },
    close: () => redis.disconnect(),
  }
}

/** Accepts connections and sends nothing, like a host that was cut off. Clients notice it by their own timeout. */
async function listenSilently(port: number) {
  const sockets = new Set<Socket>()
  const listener = createServer((socket) => sockets.add(socket)).listen(port, '127.0.0.1')
  await once(listener, 'listening')
  return {
    async close() {
      listener.close()
      for (const socket of sockets) socket.destroy()
      await once(listener, 'close')
    },
  }
}

describe('while PostgreSQL is unavailable', () => {
  test('streams stay open, new ones get 503, and delivery continues when it is available again', async () => {
    const ann = await server.addMember('ann')
    const channel = await server.addChannel('private', [ann])
    const stream = await node.open(ann)
    await postgres.stop()
    const refused = await fetch(`${node.url}/events`, { headers: { authorization: `Bearer ${ann.token}` } })
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1'])

    await postgres.restart()
    await server.says(audienceOf(channel), 'for members')
    await server.says(everyone, 'for all')
    await stream.waitFor('UPDATE_SERVER_SETTINGS', { name: 'for all' })
    expect(stream.all('UPDATE_SERVER_SETTINGS').map(({ name }) => name)).toEqual(['for members', 'for all'])
    await stream.close()
  })

  test('events whose audience must be read wait for it, in order', async () => {
    const ann = await server.addMember('ann')
    const channel = await server.addChannel('private', [ann])
    const stream = await node.open(ann)
    const { publish, close } = await openPublisher()

    await postgres.stop()
    await publish(lineOf(audienceOf(channel), 'of a channel not known yet'), lineOf(everyone, 'for all'))
    await vi.waitUntil(() => node.logged().includes('delivery waits for the database'), 20_000)
    expect(stream.received.filter(({ cursor }) => cursor !== undefined)).toHaveLength(1)

    await postgres.restart()
    close()
    await stream.waitFor('UPDATE_SERVER_SETTINGS', { name: 'for all' })
    const kept = stream.received.filter(({ cursor }) => cursor !== undefined).slice(1)
    expect(kept.map(({ payload }) => (payload as { name?: string }).name)).toEqual([
      'of a channel not known yet',
      'for all',
    ])
    await stream.close()
  })

  test('a node can stop while events wait for it', async () => {
    const stopping = await server.startNode()
    const bob = await server.addMember('bob')
    const channels = [await server.addChannel('private', [bob]), await server.addChannel('private', [bob])]
    const stream = await stopping.open(bob)
    const { publish, close } = await openPublisher()
    await postgres.stop()
    for (const channel of channels) await publish(lineOf(audienceOf(channel), 'of a channel not known yet'))
    await vi.waitUntil(() => stopping.logged().includes('delivery waits for the database'), 20_000)
    close()

    const listener = await listenSilently(Number(new URL(postgres.url).port))
    await stopping.stop()
    await stream.ended
    await listener.close()
    await postgres.restart()
  })

  test('a node that starts then is alive, refuses streams until it knows where events begin, and can stop', async () => {
    const ann = await server.addMember('ann')
    await postgres.stop()
    const [starting, stopping] = await Promise.all([server.startNode(), server.startNode()])
    const ask = (path: string) =>
      fetch(`${starting.url}${path}`, { headers: { authorization: `Bearer ${ann.token}` } }).then(
        ({ status }) => status,
      )
    expect([await ask('/health/live'), await ask('/health/ready'), await ask('/events')]).toEqual([200, 503, 503])
    await stopping.stop()

    await postgres.restart()
    await vi.waitUntil(async () => (await ask('/health/ready')) === 200, { timeout: 20_000 })
    const stream = await starting.open(ann)
    await server.says(everyone, 'for all')
    await stream.waitFor('UPDATE_SERVER_SETTINGS', { name: 'for all' })
    await stream.close()
  })
})
