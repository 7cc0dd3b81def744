import type { Channel } from '@parley/contract'
import type { EventStream, Person } from '@parley/test'
import { expect, test } from 'vitest'
import type { TestServer } from '../src/test-server.ts'

export function audienceJourneys(server: TestServer) {
  /** A private channel of ann and bob, with streams of both, of cat, who is not a member, and of an admin. */
  async function privateChannel() {
    const [ann, bob, cat, admin] = await Promise.all([
      server.newcomer('ann'),
      server.newcomer('bob'),
      server.newcomer('cat'),
      server.admin(),
    ])
    const [toAnn, toBob, toCat, toAdmin] = await Promise.all(
      [ann, bob, cat, admin].map((person) => person.opensStream()),
    )
    const channel = await ann.creates({ name: server.unique('secret'), isPrivate: true, members: [bob.id] })
    const streams = { toAnn: toAnn!, toBob: toBob!, toCat: toCat!, toAdmin: toAdmin! }
    const close = () => Promise.all(Object.values(streams).map((stream) => stream.close()))
    return { ann, bob, cat, admin, channel, ...streams, close }
  }

  /** Events have one order: when everybody has received this one, no earlier event can arrive any more. */
  async function marker(person: Person, ...streams: EventStream[]) {
    const { id } = await person.creates({ name: server.unique('marker') })
    await Promise.all(streams.map((stream) => stream.waitFor('NEW_CHANNEL', { id })))
  }

  const heard = (stream: EventStream, channel: Channel) =>
    stream.received.filter(
      ({ payload }) => ('channelId' in payload ? payload.channelId : 'id' in payload && payload.id) === channel.id,
    )

  test('members and admins see a private channel, nobody else', async () => {
    const { ann, bob, cat, admin, channel, toAnn, toBob, toCat, toAdmin, close } = await privateChannel()
    const message = await bob.says('between us', channel)
    await Promise.all(
      [toAnn, toBob, toAdmin].map(async (stream) => {
        await stream.waitFor('NEW_CHANNEL', { id: channel.id })
        await stream.waitFor('NEW_MESSAGE', { id: message.id })
      }),
    )
    await marker(ann, toCat)
    expect(heard(toCat, channel)).toEqual([])

    const path = `/channels/${channel.id}/messages`
    for (const person of [ann, bob, admin]) {
      expect((await person.get(path)).body.messages).toHaveLength(1)
      expect((await person.get('/channels')).body.channels).toContainEqual(expect.objectContaining({ id: channel.id }))
    }
    expect((await cat.get(path)).status).toBe(403)
    expect((await cat.post(path, { content: 'me too' })).status).toBe(403)
    expect((await cat.put(`/messages/${message.id}`, { content: 'x' })).status).toBe(403)
    expect((await cat.delete(`/messages/${message.id}`)).status).toBe(403)
    expect((await cat.post(`/messages/${message.id}/reactions`, { reaction: 'x' })).status).toBe(403)
    expect((await cat.put(`/channels/${channel.id}`, { name: 'x' })).status).toBe(403)
    expect((await cat.get('/channels')).body.channels).not.toContainEqual(expect.objectContaining({ id: channel.id }))
    expect(await admin.says('I may', channel)).toMatchObject({ seq: 2 })
    await close()
  })

  test('a removed member gets nothing from the next event on, a new one everything', async () => {
    const { ann, bob, cat, channel, toAnn, toBob, toCat, close } = await privateChannel()
    const before = await ann.says('all of us', channel)
    await toBob.waitFor('NEW_MESSAGE', { id: before.id })

    const update = await ann.put(`/channels/${channel.id}`, { members: [cat.id] })
    expect(update.status).toBe(200)
    await ann.says('without bob', channel)
    await toBob.waitFor('DELETE_CHANNEL', { id: channel.id })
    await toCat.waitFor('NEW_CHANNEL', { id: channel.id })
    // Streams may come from different nodes, so the events of one say nothing about the others.
    await marker(ann, toAnn, toBob, toCat)
    expect(heard(toBob, channel).map(({ type }) => type)).toEqual(['NEW_CHANNEL', 'NEW_MESSAGE', 'DELETE_CHANNEL'])
    expect(heard(toCat, channel).map(({ type }) => type)).toEqual(['NEW_CHANNEL', 'UPDATE_CHANNEL', 'NEW_MESSAGE'])
    expect(heard(toAnn, channel).map(({ type }) => type)).toEqual([
      'NEW_CHANNEL',
      'NEW_MESSAGE',
      'UPDATE_CHANNEL',
      'NEW_MESSAGE',
    ])
    expect((await bob.get(`/channels/${channel.id}/messages`)).status).toBe(403)
    expect((await bob.post(`/channels/${channel.id}/messages`, { content: 'still?' })).status).toBe(403)

    // The rights for events that bob missed are checked now.
    const resumed = await bob.opensStream(toBob.cursor)
    const later = await ann.says('and still without bob', channel)
    await marker(ann, resumed, toCat)
    expect(heard(resumed, channel)).toEqual([])
    expect(toCat.all('NEW_MESSAGE').map(({ id }) => id)).toContain(later.id)
    await Promise.all([close(), resumed.close()])
  })

  test('a channel that becomes private vanishes for the others, and comes back when it is public again', async () => {
    const { ann, bob, cat, channel, toAnn, toCat, close } = await privateChannel()
    expect((await ann.put(`/channels/${channel.id}`, { isPrivate: false })).status).toBe(200)
    await toCat.waitFor('NEW_CHANNEL', { id: channel.id })
    const open = await bob.says('hello everybody', channel)
    await toCat.waitFor('NEW_MESSAGE', { id: open.id })

    expect((await ann.put(`/channels/${channel.id}`, { isPrivate: true })).status).toBe(200)
    await toCat.waitFor('DELETE_CHANNEL', { id: channel.id })
    const closed = await bob.says('that was close', channel)
    await toAnn.waitFor('NEW_MESSAGE', { id: closed.id })
    await marker(ann, toCat)
    expect(toCat.all('NEW_MESSAGE').map(({ id }) => id)).not.toContain(closed.id)
    expect((await cat.get(`/channels/${channel.id}/messages`)).status).toBe(403)
    await close()
  })

  test('membership that comes and goes under a stream of messages is exact', async () => {
    const { ann, bob, channel, toBob, close } = await privateChannel()
    let isOver = false
    const chatter = (async () => {
      while (!isOver) await ann.says('chatter', channel)
    })()
    const withoutBob: string[] = []
    for (let round = 0; round < 15; round++) {
      expect((await ann.put(`/channels/${channel.id}`, { members: [] })).status).toBe(200)
      withoutBob.push((await ann.says('not for bob', channel)).id)
      expect((await bob.post(`/channels/${channel.id}/messages`, { content: 'let me in' })).status).toBe(403)
      // Rights are checked at delivery: earlier messages are delivered to the members at that time.
      await marker(ann, toBob)
      expect((await ann.put(`/channels/${channel.id}`, { members: [bob.id] })).status).toBe(200)
      const { id } = await ann.says('for bob', channel)
      await toBob.waitFor('NEW_MESSAGE', { id })
    }
    isOver = true
    await chatter
    await marker(ann, toBob)

    const messages = toBob.all('NEW_MESSAGE').filter(({ channelId }) => channelId === channel.id)
    const heardByBob = new Set(messages.map(({ id }) => id))
    expect(withoutBob.filter((id) => heardByBob.has(id))).toEqual([])
    expect(messages.map(({ seq }) => seq)).toEqual(messages.map(({ seq }) => seq).toSorted((a, b) => a - b))
    await close()
  })

  test('an admin hears private channels for as long as they are admin', async () => {
    const { ann, cat, admin, channel, toCat, close } = await privateChannel()
    const setRole = async (role: string) =>
      expect((await admin.put(`/users/${cat.id}/role`, { role })).status).toBe(200)
    await setRole('admin')
    await toCat.waitFor('UPDATE_USER', { id: cat.id, isAdmin: true })
    const during = await ann.says('an admin listens', channel)
    await toCat.waitFor('NEW_MESSAGE', { id: during.id })

    await setRole('user')
    const after = await ann.says('no more', channel)
    await marker(ann, toCat)
    expect(toCat.all('NEW_MESSAGE').map(({ id }) => id)).not.toContain(after.id)
    expect((await cat.get(`/channels/${channel.id}/messages`)).status).toBe(403)
    expect((await cat.get('/admin/audit-log')).status).toBe(403)
    await close()
  })
}
