import { once } from 'node:events'
import net from 'node:net'
import { everyone, type PresenceStatus } from '@parley/contract'
import { setPresence } from '@parley/presence'
import { type EventStream, type StreamRefused, somebodyWaitsFor } from '@parley/test'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { type Member, openTestServer, type TestNode, type TestServer } from '../testing/test-server.ts'

const offlineSeconds = 4

let server: TestServer
let nodes: [TestNode, TestNode]
let observer: EventStream

beforeAll(async () => {
  server = await openTestServer()
  nodes = [
    await server.startNode({ offlineSeconds, maxStreamsPerUser: 10 }),
    await server.startNode({ offlineSeconds, maxStreamsPerUser: 10 }),
  ]
  observer = await nodes[0].open(await server.addMember('observer'))
})
afterAll(() => server.close())

const told = (stream: EventStream, { id }: Member) =>
  stream
    .all('PRESENCE_UPDATE')
    .filter(({ userId }) => userId === id)
    .map(({ status }) => status)
async function shown({ id }: Member) {
  const row = await server.db
    .selectFrom('users')
    .leftJoin('presence', 'presence.userId', 'users.id')
    .select('presence.shown')
    .where('users.id', '=', id)
    .where('users.removedAt', 'is', null)
    .executeTakeFirst()
  return row ? (row.shown ?? 'offline') : 'not there'
}
const isTold = ({ id }: Member, status: PresenceStatus) =>
  observer.waitFor('PRESENCE_UPDATE', { userId: id, status }, 20_000)
const set = ({ id }: Member, status: PresenceStatus) => setPresence(server.db, id, status)
/**
 * Waits until the last stream of the person is counted as closed, and ends the delay of the offline status, so that the
 * tests need not wait.
 */
async function offlineNow({ id }: Member) {
  const due = (offlineAt: number) => server.db.updateTable('presence').set({ offlineAt }).where('userId', '=', id)
  const end = () => due(Date.now()).where('offlineAt', 'is not', null).executeTakeFirstOrThrow()
  await expect.poll(async () => Number((await end()).numUpdatedRows)).toBe(1)
}
/** Presence updates are sent in order: after this marker no earlier change can arrive any more. */
async function allIsTold() {
  const marker = await server.addMember('marker')
  await set(marker, 'away')
  await isTold(marker, 'away')
}

describe('presence', () => {
  test('is online with the first stream, on any node, and offline some time after the last one has closed', async () => {
    const ann = await server.addMember('ann')
    expect(await shown(ann)).toBe('offline')
    const streams = [await nodes[0].open(ann), await nodes[1].open(ann)]
    expect(await shown(ann)).toBe('online')
    const event = await isTold(ann, 'online')
    expect(event.cursor).toBeUndefined()
    expect(Math.abs(event.payload.lastSeen - Date.now())).toBeLessThan(60_000)

    await streams[0]!.close()
    await streams[1]!.close()
    const closedAt = Date.now()
    const rows = () => server.db.selectFrom('presence').select('offlineAt').where('userId', '=', ann.id).execute()
    await expect.poll(rows).toEqual([{ offlineAt: expect.any(Number) }])
    const [row] = await rows()
    expect(row!.offlineAt! - closedAt).toBeGreaterThan(0)
    expect(await shown(ann)).toBe('online')
    await offlineNow(ann)
    await isTold(ann, 'offline')
    expect(await shown(ann)).toBe('offline')
    expect(told(observer, ann)).toEqual(['online', 'offline'])
  })

  test('does not change when the person reconnects in time', async () => {
    const patient = [await server.startNode({ offlineSeconds: 60 }), await server.startNode({ offlineSeconds: 60 })]
    const ann = await server.addMember('ann')
    for (let round = 0; round < 6; round++) {
      const stream = await patient[round % 2]!.open(ann)
      onTestFinished(() => stream.close())
      if (round < 5) await stream.close()
    }
    await allIsTold()
    expect(told(observer, ann)).toEqual(['online'])
    // No later change to offline is planned.
    const rows = () => server.db.selectFrom('presence').select('offlineAt').where('userId', '=', ann.id).execute()
    await expect.poll(rows).toEqual([{ offlineAt: null }])
  })

  test('is what was set by hand, until the last stream closes', async () => {
    const ann = await server.addMember('ann')
    const stream = await nodes[1].open(ann)
    for (const status of ['away', 'offline', 'away'] as const) {
      await set(ann, status)
      expect(await shown(ann)).toBe(status)
      await isTold(ann, status)
      await allIsTold()
    }
    const second = await nodes[0].open(ann)
    await stream.close()
    await allIsTold()
    expect(await shown(ann)).toBe('away')
    await second.close()
    await offlineNow(ann)
    await vi.waitUntil(async () => (await shown(ann)) === 'offline', 20_000)
    const again = await nodes[0].open(ann)
    expect(await shown(ann)).toBe('online')
    await again.close()
  })

  test('that is set by hand without a stream stays, through a stream, to its end', async () => {
    const ann = await server.addMember('ann')
    await set(ann, 'away')
    await isTold(ann, 'away')
    const stream = await nodes[0].open(ann)
    expect(await shown(ann)).toBe('away')
    await stream.close()
    await offlineNow(ann)
    await isTold(ann, 'offline')
    expect(told(observer, ann)).toEqual(['away', 'offline'])
  })

  test('ends for people on a node that died, unless they have streams elsewhere', async () => {
    const [ann, bob] = [await server.addMember('ann'), await server.addMember('bob')]
    const stream = await nodes[0].open(bob)
    const onDeadNode = async (member: Member, streams: object) => {
      await set(member, 'online')
      const values = { streams: JSON.stringify(streams) }
      await server.db.updateTable('presence').set(values).where('userId', '=', member.id).execute()
    }
    const { id } = await server.db.selectFrom('presenceNodes').select('id').executeTakeFirstOrThrow()
    await onDeadNode(bob, { [id]: 1, 'a dead node': 1 })
    await onDeadNode(ann, { 'a dead node': 3 })
    await server.db
      .insertInto('presenceNodes')
      .values({ id: 'a dead node', seenAt: Date.now() - 60_000 })
      .execute()
    await offlineNow(ann)
    await isTold(ann, 'offline')
    expect(await shown(bob)).toBe('online')
    await stream.close()
  })

  test('stays when a live node was taken for dead', async () => {
    const ann = await server.addMember('ann')
    const stream = await nodes[1].open(ann)
    await server.db.deleteFrom('presenceNodes').execute()
    await server.db
      .updateTable('presence')
      .set({ streams: '{}', offlineAt: Date.now() + 60_000 })
      .execute()
    await vi.waitUntil(async () => {
      const row = await server.db.selectFrom('presence').selectAll().where('userId', '=', ann.id).executeTakeFirst()
      return row?.offlineAt === null && Object.keys(row.streams).length === 1
    }, 10_000)
    await allIsTold()
    expect(told(observer, ann)).toEqual(['online'])
    await stream.close()
  })

  test('is no longer shown for somebody who was removed', async () => {
    const ann = await server.addMember('ann')
    await server.db.transaction().execute(async (trx) => {
      await setPresence(trx, ann.id, 'away')
      await trx.updateTable('users').set({ removedAt: Date.now() }).where('id', '=', ann.id).execute()
    })
    await allIsTold()
    expect(told(observer, ann)).toEqual([])
    expect(await shown(ann)).toBe('not there')
  })

  test('needs no Redis', async () => {
    await server.redis.kill('SIGKILL')
    const ann = await server.addMember('ann')
    const stream = await nodes[1].open(ann)
    await isTold(ann, 'online')
    await server.redis.restart()
    await stream.close()
    await offlineNow(ann)
    await isTold(ann, 'offline')
  })
})

describe('many people who connect at once', () => {
  test('are sent to every stream, a few at a time, each with the final status', async () => {
    const careful = await server.startNode({ offlineSeconds: 60, presencePerSecond: 40 })
    const reader = await careful.open(await server.addMember('reader'))
    const crowd = await Promise.all(Array.from({ length: 90 }, () => server.addMember('crowd')))
    const streams = await Promise.all(crowd.map((member, index) => (index % 2 ? careful : nodes[1]).open(member)))
    for (const member of crowd.slice(0, 30)) await set(member, 'away')

    const states = () => new Map(reader.all('PRESENCE_UPDATE').map(({ userId, status }) => [userId, status]))
    const last = (index: number) => (index < 30 ? 'away' : 'online')
    await reader.until(
      () => crowd.every(({ id }, index) => states().get(id) === last(index)),
      () => `${states().size} of ${crowd.length}`,
      30_000,
    )
    await Promise.all(streams.map((stream) => stream.close()))
    await reader.close()
    await careful.stop()
  })

  test('are sent to a slow reader once it has caught up, with their status at that time', async () => {
    const patient = await server.startNode({ offlineSeconds, maxBufferBytes: 100_000_000 })
    const member = await server.addMember('slow')
    const socket = net.connect(Number(new URL(patient.url).port), '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    socket.write(`GET /events?token=${member.token} HTTP/1.1\r\nhost: x\r\n\r\n`)
    let text = ''
    socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
    while (!text.includes('id: ')) await once(socket, 'data')
    socket.pause()
    const filler = 'x'.repeat(60_000)
    for (let n = 0; n < 200; n++) await server.says(everyone, `${n} ${filler}`)
    await observer.waitFor('UPDATE_SERVER_SETTINGS', ({ name }) => name.startsWith('199 '), 20_000)

    const ann = await server.addMember('ann')
    for (const status of ['away', 'offline', 'away', 'online'] as const) {
      await set(ann, status)
      await isTold(ann, status)
    }
    socket.resume()
    const states = () => [...text.matchAll(new RegExp(`"userId":"${ann.id}","status":"(\\w+)"`, 'g'))].map(([, s]) => s)
    while (states().at(-1) !== 'online') await once(socket, 'data')
    expect(states().length).toBeLessThan(4)
    await patient.stop()
  })
})

describe('the limit of streams per person', () => {
  const tryOpen = (node: TestNode, member: Member) =>
    node.open(member).catch((error: StreamRefused) => {
      expect(error.status).toBe(429)
      return undefined
    })

  test('applies to all nodes together, also with concurrent requests', async () => {
    const ann = await server.addMember('ann')
    const tried = await Promise.all(Array.from({ length: 24 }, (_, index) => tryOpen(nodes[index % 2]!, ann)))
    const open = tried.filter((stream) => stream !== undefined)
    expect(open).toHaveLength(10)
    for (const node of nodes) expect(await tryOpen(node, ann)).toBeUndefined()

    await open.pop()!.close()
    const another = await vi.waitUntil(() => tryOpen(nodes[1], ann), 10_000)
    for (const stream of [...open, another]) await stream.close()
  })

  test('counts the streams of a node that reports again at the same moment', async () => {
    const ann = await server.addMember('ann')
    const { opening } = await server.db.transaction().execute(async (trx) => {
      await trx.insertInto('presenceNodes').values({ id: 'a slow node', seenAt: Date.now() }).execute()
      await setPresence(trx, ann.id, 'away')
      const streams = JSON.stringify({ 'a slow node': 10 })
      await trx.updateTable('presence').set({ streams }).where('userId', '=', ann.id).execute()
      const opening = tryOpen(nodes[0], ann)
      await somebodyWaitsFor(trx)
      return { opening }
    })
    expect(await opening).toBeUndefined()
  })
})
