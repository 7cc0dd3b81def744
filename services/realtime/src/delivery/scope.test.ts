import { audienceOf, everyone, onlyJoinedStreams, onlyUsers, type Routing } from '@parley/contract'
import type { EventStream } from '@parley/test'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { type Member, openTestServer, type TestNode, type TestServer } from '../testing/test-server.ts'

let server: TestServer
let nodes: [TestNode, TestNode]
let ann: Member
let bob: Member
let cat: Member
let ada: Member
let open: { id: string; membersVersion: number }
let closed: { id: string; membersVersion: number }

/** Ann is a member of both channels. Bob, cat and the admin ada are members of none. */
beforeAll(async () => {
  server = await openTestServer()
  nodes = [await server.startNode(), await server.startNode()]
})
afterAll(() => server.close())
beforeEach(async () => {
  ;[ann, bob, cat] = [await server.addMember('ann'), await server.addMember('bob'), await server.addMember('cat')]
  ada = await server.addMember('ada', { isAdmin: true })
  open = await server.addChannel('public', [ann])
  closed = await server.addChannel('private', [ann])
})

async function follow(member: Member, query: Record<string, string> = {}, lastEventId?: string, node = nodes[0]) {
  const stream = await node.open(member, lastEventId, { scope: 'joined', ...query })
  onTestFinished(() => stream.close())
  return stream
}

const namesOf = (stream: EventStream) => stream.all('UPDATE_SERVER_SETTINGS').map(({ name }) => name)

let rounds = 0
/** Sends the events, and returns the names that each stream received. A last event, which everyone gets, marks the end. */
async function receivedBy(streams: EventStream[], events: [Routing, string][]): Promise<string[][]> {
  const [begin, end] = [`begin ${++rounds}`, `end ${rounds}`]
  // A node that lags delivers events of the previous round to a stream that was opened after it.
  await server.says(everyone, begin)
  for (const [routing, name] of events) await server.says(routing, name)
  await server.says(everyone, end)
  for (const stream of streams) await stream.waitFor('UPDATE_SERVER_SETTINGS', { name: end })
  return streams.map((stream) => {
    const names = namesOf(stream)
    return names.slice(names.indexOf(begin) + 1, names.indexOf(end))
  })
}

/** Changes the members as a service does. Returns the channel and the routing of the event about it. */
async function change(id: string, { joined = [], left = [] }: { joined?: Member[]; left?: Member[] }) {
  return server.db.transaction().execute(async (trx) => {
    for (const { id: userId } of joined)
      await trx.insertInto('channelMembers').values({ channelId: id, userId, joinedAt: 1 }).execute()
    for (const { id: userId } of left)
      await trx.deleteFrom('channelMembers').where('channelId', '=', id).where('userId', '=', userId).execute()
    const channel = await trx
      .updateTable('channels')
      .set(({ eb }) => ({ membersVersion: eb('membersVersion', '+', 1) }))
      .where('id', '=', id)
      .returning(['id', 'membersVersion'])
      .executeTakeFirstOrThrow()
    const membership = { joined: joined.map(({ id }) => id), left: left.map(({ id }) => id) }
    return { channel, routing: { ...audienceOf(channel), membership } }
  })
}

describe('scope=joined', () => {
  test('gets the events of joined channels, of no other channels, and all events about people', async () => {
    const streams = [await follow(ann), await follow(bob), await follow(ada), await nodes[0].open(bob)]
    onTestFinished(() => streams[3]!.close())
    expect(
      await receivedBy(streams, [
        [audienceOf(open), 'open'],
        [audienceOf(closed), 'closed'],
        [everyone, 'everyone'],
        [onlyUsers(bob.id), 'bob'],
        [{ to: 'outsiders', members: [ann.id], channel: closed.id }, 'outsiders'],
      ]),
    ).toEqual([
      ['open', 'closed', 'everyone'],
      ['everyone', 'bob'],
      ['everyone'],
      ['open', 'everyone', 'bob', 'outsiders'],
    ])
  })

  test('gets events with `scopedOnly` of channels that its person has joined or watches; `scope=all` gets none', async () => {
    const scoped = { scopedOnly: true } as const
    const watch = `${open.id},${closed.id}`
    const streams = [await follow(ann), await follow(bob), await follow(cat, { watch }), await nodes[0].open(ann)]
    onTestFinished(() => streams[3]!.close())
    expect(
      await receivedBy(streams, [
        [{ ...audienceOf(open), ...scoped }, 'open'],
        [{ ...audienceOf(closed), ...scoped }, 'closed'],
      ]),
    ).toEqual([['open', 'closed'], [], ['open'], []])
  })

  test('gets messages that mention the person by name, unless the person may not read the private channel', async () => {
    const mentions = [bob.id, ada.id, '@channel', '@here']
    const streams = [await follow(ann), await follow(bob), await follow(cat), await follow(ada)]
    expect(
      await receivedBy(streams, [
        [audienceOf(open, mentions), 'in public'],
        [audienceOf(closed, mentions), 'in private'],
        [audienceOf(open, ['@channel', '@here']), 'to all'],
      ]),
    ).toEqual([['in public', 'in private', 'to all'], ['in public'], [], ['in public', 'in private']])
  })

  test('gets messages that mention a group while the person is in the group', async () => {
    const group = await server.addGroup([bob, ann])
    const mention = audienceOf(open, [`group:${group}`, bob.id])
    const streams = [
      await follow(ann),
      await follow(bob),
      await follow(bob, { watch: open.id }, undefined, nodes[1]),
      await follow(cat),
      await follow(ada),
    ]
    const inPrivate: [Routing, string] = [audienceOf(closed, [`group:${group}`]), 'in private']
    expect(await receivedBy(streams, [[mention, 'both'], inPrivate])).toEqual([
      ['both', 'in private'],
      ['both'],
      ['both'],
      [],
      [],
    ])

    const told: [Routing, string] = [{ to: 'users', users: [], reloadGroups: [group] }, 'changed']
    await server.changeGroup(group, { joined: [cat, ada], left: [bob] })
    const of = audienceOf(open, [`group:${group}`])
    expect(await receivedBy(streams, [told, [of, 'later'], inPrivate])).toEqual([
      ['later', 'in private'],
      [],
      ['later'],
      ['later'],
      ['later', 'in private'],
    ])
    const missed = await follow(bob)
    await missed.close()
    await server.changeGroup(group, { joined: [bob], left: [cat] })
    expect(await receivedBy(streams, [told, [of, 'last']])).toEqual([['last'], ['last'], ['last'], [], ['last']])
    const resumed = await follow(bob, {}, missed.cursor)
    await resumed.waitFor('UPDATE_SERVER_SETTINGS', { name: 'last' })
  })

  test('gets the events of the channels in `watch` that the person may read', async () => {
    const watch = [open.id, closed.id, crypto.randomUUID(), 'nonsense', ''].join(',')
    const streams = await Promise.all([ann, bob, ada].map((member) => follow(member, { watch })))
    expect(
      await receivedBy(streams, [
        [audienceOf(open, [bob.id]), 'open'],
        [audienceOf(closed), 'closed'],
        [{ to: 'outsiders', members: [ann.id], channel: closed.id }, 'outsiders'],
        [{ to: 'outsiders', members: [ann.id] }, 'outsiders of an unnamed channel'],
      ]),
    ).toEqual([
      ['open', 'closed'],
      ['open', 'outsiders'],
      ['open', 'closed'],
    ])
  })

  test('gets the channels that its person joins, until they leave; only it gets the event about the joined channel', async () => {
    const streams = [await follow(bob), await follow(bob, {}, undefined, nodes[1]), await nodes[0].open(bob)]
    onTestFinished(() => streams[2]!.close())
    await receivedBy(streams, [[audienceOf(open), 'before']])

    const joining = await change(open.id, { joined: [bob] })
    const afterJoining: [Routing, string][] = [
      [onlyJoinedStreams(bob.id), 'new channel'],
      [joining.routing, 'update'],
      [audienceOf(joining.channel), 'message'],
    ]
    const all = ['new channel', 'update', 'message']
    expect(await receivedBy(streams, afterJoining)).toEqual([all, all, ['update', 'message']])

    const leaving = await change(open.id, { left: [bob] })
    const afterLeaving: [Routing, string][] = [
      [onlyJoinedStreams(bob.id), 'channel gone'],
      [leaving.routing, 'update'],
      [audienceOf(leaving.channel), 'message'],
    ]
    const gone = ['channel gone']
    expect(await receivedBy(streams, afterLeaving)).toEqual([gone, gone, ['update', 'message']])
  })

  test('gets a message that was recorded before the person left, either in order or not at all', async () => {
    const stream = await follow(ann)
    await receivedBy([stream], [[audienceOf(open), 'known']])
    for (let round = 0; round < 5; round++) {
      const { channel, routing } = await change(open.id, { left: [ann] })
      const [got] = await receivedBy(
        [stream],
        [
          [audienceOf({ ...channel, membersVersion: channel.membersVersion - 1 }), 'flying'],
          [onlyJoinedStreams(ann.id), 'gone'],
          [routing, 'update'],
          [audienceOf(channel), 'later'],
        ],
      )
      expect([['flying', 'gone'], ['gone']]).toContainEqual(got)
      const back = await change(open.id, { joined: [ann] })
      expect(await receivedBy([stream], [[back.routing, 'back']])).toEqual([['back']])
    }
  })

  test('gets no channel events after its person was removed', async () => {
    const stream = await follow(ann)
    await server.db.updateTable('users').set({ removedAt: 1 }).where('id', '=', ann.id).execute()
    await server.control({ ...everyone, reloadUsers: [ann.id] })
    await server.says(audienceOf(open), 'too late')
    await stream.ended
    expect(namesOf(stream)).toEqual([])
  })

  test('is refused with 400 when the scope is unknown or `watch` has too many channels', async () => {
    const status = async (query: string) => {
      const response = await fetch(`${nodes[0].url}/events?${query}`, {
        headers: { authorization: `Bearer ${ann.token}` },
      })
      await response.body?.cancel()
      return response.status
    }
    const ids = (count: number) => Array.from({ length: count }, () => crypto.randomUUID()).join(',')
    expect(await status(`scope=joined&watch=${ids(50)}`)).toBe(200)
    for (const query of [`watch=${ids(51)}`, 'scope=mine', 'scope=joined&scope=all', 'presence=some']) {
      expect([query, await status(query)]).toEqual([query, 400])
    }
  })
})

describe('a cursor', () => {
  test('works with any scope: a stream gets the events that it missed under its new scope', async () => {
    const watch = open.id
    const all = await nodes[0].open(bob)
    const joined = await follow(bob)
    const watching = await follow(bob, { watch })
    await Promise.all([all, joined, watching].map((stream) => stream.close()))
    await server.says(audienceOf(open), 'open')
    await server.says(audienceOf(closed), 'closed')
    await server.says(audienceOf(open, [bob.id]), 'mention')
    await server.says(onlyJoinedStreams(bob.id), 'joined')
    await server.says(everyone, 'end')

    for (const { cursor } of [all, joined, watching]) {
      for (const [index, node] of nodes.entries()) {
        const views: [Record<string, string>, string[]][] = [
          [{ scope: 'all' }, ['open', 'mention']],
          [{ scope: 'joined' }, ['mention', 'joined']],
          [{ scope: 'joined', watch }, ['open', 'mention', 'joined']],
        ]
        for (const [query, expected] of views) {
          const stream = await node.open(bob, cursor, query)
          await stream.waitFor('UPDATE_SERVER_SETTINGS', { name: 'end' })
          expect(stream.connected.payload.resumed).toBe(true)
          expect([index, query, namesOf(stream)]).toEqual([index, query, [...expected, 'end']])
          await stream.close()
        }
      }
    }
  })
})

describe('presence=none', () => {
  test('gets no PRESENCE_UPDATE, but other streams do', async () => {
    const [without, withPresence] = [await follow(ann, { presence: 'none' }), await follow(ann)]
    const seen = await follow(bob)
    await withPresence.waitFor('PRESENCE_UPDATE', { userId: bob.id, status: 'online' })
    await seen.close()
    await receivedBy([without], [])
    expect(without.all('PRESENCE_UPDATE')).toEqual([])
  })
})
