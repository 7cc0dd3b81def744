import { everyone } from '@parley/contract'
import { somebodyWaitsFor } from '@parley/test'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Member, openTestServer, type TestNode, type TestServer } from '../testing/test-server.ts'

let server: TestServer
let node: TestNode
let other: TestNode
let bot: Member
let ann: Member

beforeAll(async () => {
  server = await openTestServer()
  // The stream of a person can resume within one second only.
  node = await server.startNode({ replaySeconds: 1, resumeMaxEvents: 1 })
  other = await server.startNode()
  bot = await server.addMember('bot')
  ann = await server.addMember('ann')
  await server.db.updateTable('users').set({ isBot: true }).where('id', '=', bot.id).execute()
})
afterAll(() => server.close())

async function call(method: string, path: string, { token }: Member, body?: object) {
  const response = await fetch(node.url + path, {
    method,
    headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  })
  // biome-ignore lint/suspicious/noExplicitAny: bodies of several shapes
  return { status: response.status, body: (await response.json()) as any }
}

const opens = (name: string, at = node) => at.open(bot, undefined, { consumer: name })
const says = (...names: string[]) => Promise.all(names.map((name) => server.says(everyone, name)))
const saysInOrder = async (...names: string[]) => {
  for (const name of names) await server.says(everyone, name)
}

describe('a consumer', () => {
  test('begins with new events, and continues after the cursor that the bot has stored', async () => {
    const witness = await node.open(ann)
    await says('before')
    // Waits until the node has delivered the recorded event, because a new consumer begins after the last delivered
    // event.
    await witness.waitFor('UPDATE_SERVER_SETTINGS', { name: 'before' })
    await witness.close()
    const stream = await opens('worker')
    expect((await stream.waitFor('CONNECTED')).payload.resumed).toBe(true)
    await saysInOrder('one', 'two', 'three')
    await stream.waitFor('UPDATE_SERVER_SETTINGS', { name: 'three' })
    const names = stream.received.flatMap(({ type, payload }) =>
      type === 'UPDATE_SERVER_SETTINGS' ? payload.name : [],
    )
    expect(names).toEqual(['one', 'two', 'three'])
    const { cursor } = await stream.waitFor('UPDATE_SERVER_SETTINGS', { name: 'one' })
    await stream.close()

    const told = await call('PUT', '/consumers/worker', bot, { cursor })
    expect(told).toMatchObject({ status: 200, body: { consumer: { name: 'worker', cursor } } })
    // Events stay for the consumer even when they are old, and more than a stream may resume after.
    await server.db.updateTable('outbox').set({ createdAt: 1 }).execute()
    const again = await opens('worker')
    await again.waitFor('UPDATE_SERVER_SETTINGS', { name: 'three' })
    const [connected, ...rest] = again.received
    expect(connected!.payload).toMatchObject({ resumed: true })
    expect(rest.flatMap(({ type, payload }) => (type === 'UPDATE_SERVER_SETTINGS' ? payload.name : []))).toEqual([
      'two',
      'three',
    ])
    await again.close()
  })

  test('never moves back, and accepts no unknown cursor', async () => {
    const stream = await opens('steady')
    await saysInOrder('first', 'second')
    const { cursor: first } = await stream.waitFor('UPDATE_SERVER_SETTINGS', { name: 'first' })
    const { cursor: second } = await stream.waitFor('UPDATE_SERVER_SETTINGS', { name: 'second' })
    await call('PUT', '/consumers/steady', bot, { cursor: second })
    expect((await call('PUT', '/consumers/steady', bot, { cursor: first })).body.consumer.cursor).toBe(second)
    const [epoch] = second!.split('.')
    for (const cursor of ['', 'nonsense', `${epoch}.999999999`, `other.1`, `${epoch}.-1`]) {
      expect(await call('PUT', '/consumers/steady', bot, { cursor })).toMatchObject({ status: 400 })
    }
    await stream.close()
  })

  test('has one stream: the newer one ends the older, on another node too', async () => {
    const first = await opens('single')
    await first.waitFor('CONNECTED')
    const second = await opens('single', other)
    await second.waitFor('CONNECTED')
    await first.ended
    await says('for the newer')
    await second.waitFor('UPDATE_SERVER_SETTINGS', { name: 'for the newer' })
    expect(first.received.some(({ type }) => type === 'UPDATE_SERVER_SETTINGS')).toBe(false)

    expect(await call('DELETE', '/consumers/single', bot)).toMatchObject({ status: 200 })
    await second.ended
  })

  test('is listed and deleted by its bot', async () => {
    await (await opens('short-lived')).close()
    const names = async () =>
      (await call('GET', '/consumers', bot)).body.consumers.map(({ name }: { name: string }) => name)
    expect(await names()).toContain('short-lived')
    expect(await call('DELETE', '/consumers/short-lived', bot)).toMatchObject({ status: 200 })
    expect(await names()).not.toContain('short-lived')
    expect(await call('DELETE', '/consumers/short-lived', bot)).toMatchObject({ status: 404 })
    expect(await call('PUT', '/consumers/short-lived', bot, { cursor: 'a.1' })).toMatchObject({ status: 400 })
  })

  test('is for bots, has a valid name, and is one of at most 20', async () => {
    for (const response of [
      await call('GET', '/consumers', ann),
      await call('PUT', '/consumers/worker', ann, { cursor: 'a.1' }),
      await call('DELETE', '/consumers/worker', ann),
      await call('GET', '/events?consumer=worker', ann),
    ])
      expect(response).toMatchObject({ status: 403 })
    for (const name of ['a b', 'ä', 'a'.repeat(65), '%00', '.', '..']) {
      expect(await call('GET', `/events?consumer=${name}`, bot)).toMatchObject({ status: 400 })
    }
    const { length } = (await call('GET', '/consumers', bot)).body.consumers
    for (let n = length; n < 20; n++) await (await opens(`one-of-${n}`)).close()
    expect(await call('GET', '/events?consumer=one-more', bot)).toMatchObject({ status: 400 })
    await (await opens('worker')).close()
  })

  test('is one of at most 20, also when two are created at once on two nodes', async () => {
    const eager = await server.addMember('eager')
    await server.db.updateTable('users').set({ isBot: true }).where('id', '=', eager.id).execute()
    const opensFor = (name: string, at = node) => at.open(eager, undefined, { consumer: name })
    for (let n = 1; n < 20; n++) await (await opensFor(`one-of-${n}`)).close()

    // The first one waits after it has counted, until this consumer of the same name is rolled back.
    const holder = await server.db.startTransaction().execute()
    await sql`
      insert into consumers (user_id, name, epoch, pos, created_at, updated_at, stream_id)
      values (${eager.id}, 'one', '', 0, 0, 0, gen_random_uuid())`.execute(holder)
    const one = opensFor('one', node)
    await somebodyWaitsFor(holder)
    const another = opensFor('another', other)
    const waiting = sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    const bothWait = async () => {
      while ((await waiting.execute(server.db)).rows.length < 2);
    }
    await Promise.race([another.catch(() => {}), bothWait()])
    await holder.rollback().execute()
    const opening = Promise.allSettled([one, another])

    const opened = (await opening).map((each) => (each.status === 'fulfilled' ? each.value : each.reason.status))
    expect(opened.filter((each) => typeof each === 'number')).toEqual([400])
    await Promise.all(opened.map((each) => typeof each === 'number' || each.close()))
    expect((await call('GET', '/consumers', eager)).body.consumers).toHaveLength(20)
  })
})
