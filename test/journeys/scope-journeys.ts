import type { EventStream, Person } from '@parley/test'
import { expect, onTestFinished, test } from 'vitest'
import type { TestServer } from '../src/test-server.ts'

/** Streams with a scope; see "The stream" in docs/clients.md. */
export function scopeJourneys(server: TestServer) {
  async function follow(person: Person, query: Record<string, string> = {}, cursor?: string) {
    const stream = await person.opensStream(cursor, { scope: 'joined', ...query })
    onTestFinished(() => stream.close())
    return stream
  }

  /** All events of a channel that a stream has received, after all earlier events have arrived. */
  async function heardOf(stream: EventStream, channel: { id: string }) {
    const marker = await server.newcomer('marker')
    await stream.waitFor('NEW_USER', { id: marker.id })
    return stream.received.filter(({ type, payload }) => {
      if (type === 'TYPING') return false
      return 'channelId' in payload ? payload.channelId === channel.id : 'id' in payload && payload.id === channel.id
    })
  }
  const typesOf = async (stream: EventStream, channel: { id: string }) =>
    (await heardOf(stream, channel)).map(({ type }) => type)

  test('a stream of joined channels has their events from joining to leaving; the person’s other streams get events of both', async () => {
    const [ann, bob] = await Promise.all([server.newcomer('ann'), server.newcomer('bob')])
    const channel = await ann.creates({ name: server.unique('scope') })
    const [joined, elsewhere, all] = [await follow(bob), await follow(bob), await bob.opensStream()]
    onTestFinished(() => all.close())
    // The channel's creation may reach a node after the stream was opened there.
    await heardOf(all, channel)
    all.received.length = 0
    await ann.says('not for who has not joined', channel)
    // Everybody may read it, and a stream that gets it after joining would receive it.
    for (const stream of [joined, elsewhere]) await heardOf(stream, channel)

    expect((await bob.post(`/channels/${channel.id}/join`)).status).toBe(200)
    const message = await ann.says('for members', channel)
    // Membership is checked at delivery: a message that is being delivered when somebody leaves does not arrive.
    for (const stream of [joined, elsewhere]) await stream.waitFor('NEW_MESSAGE', { id: message.id })
    expect((await bob.post(`/channels/${channel.id}/leave`)).status).toBe(200)
    await ann.says('no longer', channel)
    for (const stream of [joined, elsewhere]) {
      const heard = await heardOf(stream, channel)
      expect(heard.map(({ type }) => type).filter((type) => type !== 'READ_UPDATE')).toEqual([
        'NEW_CHANNEL',
        'UPDATE_CHANNEL',
        'NEW_MESSAGE',
        'DELETE_CHANNEL',
      ])
      expect(heard.find(({ type }) => type === 'NEW_MESSAGE')?.payload).toMatchObject({ id: message.id })
    }
    const everything = await typesOf(all, channel)
    expect(everything.filter((type) => type === 'NEW_MESSAGE')).toHaveLength(3)
    expect(everything).not.toContain('NEW_CHANNEL')
    expect(everything).not.toContain('DELETE_CHANNEL')
  })

  test('a message that mentions somebody by name comes without joining, and so does all that happens to it later', async () => {
    const [ann, bob] = await Promise.all([server.newcomer('ann'), server.newcomer('bob')])
    const channel = await ann.creates({ name: server.unique('mention') })
    const stream = await follow(bob)
    await ann.says('@channel @here', channel)
    const other = await ann.says('not about bob', channel)
    await ann.post(`/messages/${other.id}/reactions`, { reaction: 'x' })

    const message = await ann.says(`hello @${bob.userName}`, channel)
    await ann.post(`/messages/${message.id}/pin`)
    const reply = (await ann.post(`/messages/${message.id}/thread`, { content: 'a reply' })).body.reply
    await ann.put(`/messages/${message.id}`, { content: 'hello, no name' })
    await ann.post(`/messages/${message.id}/reactions`, { reaction: 'y' })
    await ann.put(`/messages/${message.id}/thread/${reply.id}`, { content: 'another reply' })
    await ann.delete(`/messages/${message.id}/thread/${reply.id}`)
    await ann.delete(`/messages/${message.id}`)
    expect(await typesOf(stream, channel)).toEqual([
      'NEW_MESSAGE',
      'UPDATE_MESSAGE',
      'NEW_THREAD_REPLY',
      'UPDATE_MESSAGE',
      'NEW_REACTION',
      'UPDATE_THREAD_REPLY',
      'DELETE_THREAD_REPLY',
      'DELETE_MESSAGE',
    ])
  })

  test('a reply that mentions somebody comes, and its end with its parent', async () => {
    const [ann, bob] = await Promise.all([server.newcomer('ann'), server.newcomer('bob')])
    const channel = await ann.creates({ name: server.unique('reply') })
    const stream = await follow(bob)
    const parent = await ann.says('a parent', channel)
    await ann.post(`/messages/${parent.id}/thread`, { content: `@${bob.userName} look` })
    await ann.put(`/messages/${parent.id}`, { content: 'an edited parent' })
    await ann.delete(`/messages/${parent.id}`)
    expect(await typesOf(stream, channel)).toEqual([
      'NEW_THREAD_REPLY',
      'THREAD_READ_UPDATE',
      'THREAD_READ_UPDATE',
      'DELETE_MESSAGE',
    ])
  })

  test('channels in watch come without joining, until they become private; nothing of private ones leaks', async () => {
    const [ann, bob] = await Promise.all([server.newcomer('ann'), server.newcomer('bob')])
    const channel = await ann.creates({ name: server.unique('watch') })
    const secret = await ann.creates({ name: server.unique('secret'), isPrivate: true })
    const [watching, joined] = [await follow(bob, { watch: `${channel.id},${secret.id}` }), await follow(bob)]
    // The channel's creation may reach a node after the stream was opened there.
    await heardOf(watching, channel)
    watching.received.length = 0

    await ann.says('in public', channel)
    await ann.says(`in private @${bob.userName}`, secret)
    await ann.put(`/channels/${channel.id}`, { topic: 'a topic' })
    // Rights are checked at delivery: an event that is delivered after the change is no longer for bob.
    await watching.waitFor('UPDATE_CHANNEL', { id: channel.id, topic: 'a topic' })
    await ann.put(`/channels/${channel.id}`, { isPrivate: true })
    await ann.says(`in private @${bob.userName}`, channel)
    expect(await typesOf(watching, channel)).toEqual(['NEW_MESSAGE', 'UPDATE_CHANNEL', 'DELETE_CHANNEL'])
    expect(await heardOf(watching, secret)).toEqual([])
    expect(await heardOf(joined, channel)).toEqual([])

    await ann.put(`/channels/${channel.id}`, { isPrivate: false })
    await ann.delete(`/channels/${channel.id}`)
    expect(await typesOf(watching, channel)).toEqual([
      'NEW_MESSAGE',
      'UPDATE_CHANNEL',
      'DELETE_CHANNEL',
      'NEW_CHANNEL',
      'UPDATE_CHANNEL',
      'DELETE_CHANNEL',
    ])
  })

  test('a stream resumes with another scope: missed events of the new scope are delivered, on any node', async () => {
    const [ann, bob] = await Promise.all([server.newcomer('ann'), server.newcomer('bob')])
    const channel = await ann.creates({ name: server.unique('resume scope') })
    const first = await follow(bob)
    // Then its cursor is after the channel's creation, which no node may have delivered when it was opened.
    await heardOf(first, channel)
    await first.close()
    await ann.says('missed', channel)

    for (let round = 0; round < 2; round++) {
      const views: [Record<string, string>, string[]][] = [
        [{ scope: 'joined' }, []],
        [{ scope: 'joined', watch: channel.id }, ['NEW_MESSAGE']],
        [{ scope: 'all' }, ['NEW_MESSAGE']],
      ]
      for (const [query, expected] of views) {
        const stream = await follow(bob, query, first.cursor)
        expect(stream.connected.payload.resumed).toBe(true)
        expect([query, await typesOf(stream, channel)]).toEqual([query, expected])
      }
    }
  })

  test('a private channel, conversations and one’s own read state come as to any other stream', async () => {
    const [ann, bob] = await Promise.all([server.newcomer('ann'), server.newcomer('bob')])
    const stream = await follow(bob, { presence: 'none' })
    const secret = await ann.creates({ name: server.unique('mine'), isPrivate: true, members: [bob.id] })
    await ann.says('for members', secret)
    await bob.put(`/channels/${secret.id}/read`, { seq: 1 })
    const { conversation } = (await ann.post('/conversations', { targetUserId: bob.id })).body
    await ann.post(`/conversations/${conversation.id}/messages`, { content: 'hello' })
    await stream.waitFor('NEW_DM_MESSAGE', { channelId: conversation.id })
    await stream.waitFor('READ_UPDATE', { channelId: secret.id })
    expect((await typesOf(stream, secret)).filter((type) => type !== 'READ_UPDATE')).toEqual([
      'NEW_CHANNEL',
      'NEW_MESSAGE',
    ])
    expect(stream.all('PRESENCE_UPDATE')).toEqual([])
  })
}
