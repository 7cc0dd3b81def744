import { audienceOf, everyone, nobody, onlyUsers, type Routing } from '@parley/contract'
import type { EventStream } from '@parley/test'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Member, openTestServer, type TestNode, type TestServer } from '../testing/test-server.ts'

const names = ['ann', 'bob', 'cat', 'ada'] as const
type Name = (typeof names)[number]

let server: TestServer
let node: TestNode
let people: Record<Name, Member>
let streams: Record<Name, EventStream>

/** Ann and bob are members, cat is an outsider, ada is an admin. Each of them has an open stream. */
beforeAll(async () => {
  server = await openTestServer()
  node = await server.startNode()
  const made = await Promise.all(
    names.map(async (name) => [name, await server.addMember(name, { isAdmin: name === 'ada' })]),
  )
  people = Object.fromEntries(made)
  streams = Object.fromEntries(await Promise.all(names.map(async (name) => [name, await node.open(people[name])])))
})
afterAll(() => server.close())

let events = 0

/** The people who receive an event with this routing. A second event, which everyone gets, shows that the first one was delivered. */
async function receivers(routing: Routing): Promise<Name[]> {
  const what = `event ${++events}`
  await server.says(routing, what)
  await server.says(everyone, `after ${what}`)
  await Promise.all(names.map((name) => streams[name].waitFor('UPDATE_SERVER_SETTINGS', { name: `after ${what}` })))
  const copies = (name: Name) =>
    streams[name].all('UPDATE_SERVER_SETTINGS').filter((payload) => payload.name === what).length
  // A person who receives the event twice is listed twice.
  return names.flatMap((name) => Array<Name>(copies(name)).fill(name))
}

/** Changes who may read a channel, as the directory does: first the members, then the version. */
async function change(id: string, kind: 'public' | 'private', members: Name[]): Promise<Routing & { to: 'channel' }> {
  return server.db.transaction().execute(async (trx) => {
    await trx.deleteFrom('channelMembers').where('channelId', '=', id).execute()
    for (const name of members) {
      await trx
        .insertInto('channelMembers')
        .values({ channelId: id, userId: people[name].id, joinedAt: Date.now() })
        .execute()
    }
    const channel = await trx
      .updateTable('channels')
      .set(({ eb }) => ({ kind, membersVersion: eb('membersVersion', '+', 1) }))
      .where('id', '=', id)
      .returning(['id', 'membersVersion'])
      .executeTakeFirstOrThrow()
    return audienceOf(channel) as Routing & { to: 'channel' }
  })
}

describe('an event reaches', () => {
  test('everyone', async () => expect(await receivers(everyone)).toEqual([...names]))
  test('nobody', async () => expect(await receivers(nobody)).toEqual([]))
  test('some users', async () =>
    expect(await receivers(onlyUsers(people.bob.id, people.cat.id))).toEqual(['bob', 'cat']))
  test('everyone, when it is of a public channel', async () => {
    expect(await receivers(audienceOf(await server.addChannel('public')))).toEqual([...names])
  })
  test('members and admins of a private channel', async () => {
    const channel = await server.addChannel('private', [people.ann, people.bob])
    expect(await receivers(audienceOf(channel))).toEqual(['ann', 'bob', 'ada'])
  })
  test('the participants of a conversation, but no admin', async () => {
    const conversation = await server.addChannel('direct', [people.ann, people.cat])
    expect(await receivers(audienceOf(conversation))).toEqual(['ann', 'cat'])
  })
  test('outsiders, but neither members nor admins', async () => {
    expect(await receivers({ to: 'outsiders', members: [people.ann.id] })).toEqual(['bob', 'cat'])
  })
  test('nobody when the channel does not exist', async () => {
    expect(await receivers({ to: 'channel', channel: crypto.randomUUID(), version: 1 })).toEqual([])
  })
  test('the former readers of a deleted channel', async () => {
    const channel = await server.addChannel('private', [people.ann])
    await server.db.updateTable('channels').set({ deletedAt: Date.now() }).where('id', '=', channel.id).execute()
    expect(await receivers(audienceOf(channel))).toEqual(['ann', 'ada'])
  })
})

test('every stream of a person receives each event, in the order of positions and with a cursor', async () => {
  const second = await node.open(people.ann)
  const channel = await server.addChannel('private', [people.ann])
  for (let n = 0; n < 20; n++) await server.says(n % 2 ? everyone : audienceOf(channel), `order ${n}`)
  for (const stream of [second, streams.ann]) {
    await stream.waitFor('UPDATE_SERVER_SETTINGS', { name: 'order 19' })
    const got = stream.received.filter(
      (event) => event.type === 'UPDATE_SERVER_SETTINGS' && event.payload.name.startsWith('order'),
    )
    expect(got.map(({ payload }) => (payload as { name: string }).name)).toEqual(
      Array.from({ length: 20 }, (_, n) => `order ${n}`),
    )
    const positions = got.map(({ cursor }) => Number(cursor!.split('.')[1]))
    expect(positions).toEqual(positions.map((_, index) => positions[0]! + index))
  }
  await second.close()
})

test('the time between recording and delivery is measured once for each batch of the relay', async () => {
  const measured = () => node.reads('parley_delivery_lag_seconds_count')
  const before = await measured()
  await receivers(everyone)
  const after = await measured()
  expect(after).toBeGreaterThan(before)
  expect(after - before).toBeLessThanOrEqual(2)
  expect(await node.reads('parley_delivery_lag_seconds_sum')).toBeGreaterThan(0)
})

test('the gauge shows how long the oldest event has waited while nothing can be delivered', async () => {
  const waiting = () => node.reads('parley_delivery_waiting_seconds')
  const channel = await server.addChannel('private', [people.ann])
  await expect.poll(waiting).toBe(0)
  await server.db.transaction().execute(async (trx) => {
    await sql`lock table channels in access exclusive mode`.execute(trx)
    await server.says(audienceOf(channel), 'held up')
    await expect.poll(waiting, { timeout: 20_000 }).toBeGreaterThan(0)
  })
  await streams.ann.waitFor('UPDATE_SERVER_SETTINGS', { name: 'held up' })
  await expect.poll(waiting).toBe(0)
})

describe('the audience changes', () => {
  test('with the membership, from the event of its new version on', async () => {
    const { id, ...first } = await server.addChannel('private', [people.ann, people.bob])
    expect(await receivers(audienceOf({ id, ...first }))).toEqual(['ann', 'bob', 'ada'])
    expect(await receivers(await change(id, 'private', ['ann', 'cat']))).toEqual(['ann', 'cat', 'ada'])
    expect(await receivers(await change(id, 'private', []))).toEqual(['ada'])
  })

  test('when a channel becomes private or public', async () => {
    const { id } = await server.addChannel('public')
    expect(await receivers(await change(id, 'private', ['bob']))).toEqual(['bob', 'ada'])
    expect(await receivers(await change(id, 'public', ['bob']))).toEqual([...names])
  })

  test('when a user becomes an admin or stops being one, on open streams too', async () => {
    const routing = audienceOf(await server.addChannel('private', [people.ann]))
    const setAdmin = async (isAdmin: boolean) => {
      await server.db.updateTable('users').set({ isAdmin }).where('id', '=', people.cat.id).execute()
      await server.control({ ...nobody, reloadUsers: [people.cat.id] })
    }
    expect(await receivers(routing)).toEqual(['ann', 'ada'])
    await setAdmin(true)
    expect(await receivers(routing)).toEqual(['ann', 'cat', 'ada'])
    await setAdmin(false)
    expect(await receivers(routing)).toEqual(['ann', 'ada'])
  })

  test('when an older database replaces the database', async () => {
    const { id } = await server.addChannel('private', [people.ann])
    expect(await receivers(await change(id, 'private', ['ann', 'bob']))).toEqual(['ann', 'bob', 'ada'])

    await change(id, 'private', ['ann'])
    await server.db.updateTable('channels').set({ membersVersion: 1 }).where('id', '=', id).execute()
    await server.beginEpoch()
    await Promise.all(names.map((name) => streams[name].ended))
    for (const name of names) streams[name] = await node.open(people[name])
    expect(await receivers(audienceOf({ id, membersVersion: 1 }))).toEqual(['ann', 'ada'])
  })

  test('for a replay too: it uses the rights at the moment of the delivery', async () => {
    const { id, ...first } = await server.addChannel('private', [people.ann, people.bob])
    const bob = await node.open(people.bob)
    await bob.close()
    await server.says(audienceOf({ id, ...first }), 'for members, then')
    await receivers(await change(id, 'private', ['ann']))
    await server.says(everyone, 'for all')

    const again = await node.open(people.bob, bob.cursor)
    await again.waitFor('UPDATE_SERVER_SETTINGS', { name: 'for all' })
    expect(again.connected.payload.resumed).toBe(true)
    expect(again.all('UPDATE_SERVER_SETTINGS').map(({ name }) => name)).not.toContain('for members, then')
    await again.close()
  })
})
