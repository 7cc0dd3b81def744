import type { Message } from '@parley/contract'
import { expect, test } from 'vitest'
import type { TestServer } from '../src/test-server.ts'

export function conversationJourneys(server: TestServer) {
  test('a new channel and what is said in it reaches somebody else at once', async () => {
    const [ann, bob] = await Promise.all([server.newcomer('ann'), server.newcomer('bob')])
    const [toBob, toAnn] = await Promise.all([bob.opensStream(), ann.opensStream()])
    const channel = await ann.creates({ name: server.unique('lunch'), topic: 'food' })
    expect(channel).toMatchObject({ topic: 'food', isPrivate: false, members: [ann.id] })
    await toBob.waitFor('NEW_CHANNEL', { id: channel.id, name: channel.name })

    const message = await ann.says('who is hungry? 🍜', channel)
    expect(message).toMatchObject({
      channelId: channel.id,
      seq: 1,
      author: { id: ann.id, userName: ann.userName },
      content: 'who is hungry? 🍜',
      attachments: [],
      images: [],
      quotedMessageId: null,
      mentions: [],
      pinnedAt: null,
      updatedAt: null,
      reactions: {},
      threadMeta: null,
    })
    const [atBob, atAnn] = await Promise.all([
      toBob.waitFor('NEW_MESSAGE', { id: message.id }),
      toAnn.waitFor('NEW_MESSAGE', { id: message.id }),
    ])
    expect(atBob.payload).toEqual(message)
    expect(atAnn.cursor).toBe(atBob.cursor)

    await Promise.all([toBob.close(), toAnn.close()])
  })

  test('General is there for everyone from the start', async () => {
    const ann = await server.newcomer('ann')
    const { channels } = (await ann.get('/channels')).body
    const general = channels.find(({ name }: { name: string }) => name === 'General')
    expect(general).toMatchObject({ isPrivate: false })
    expect(await ann.says('hello', general)).toMatchObject({ channelId: general.id })
  })

  test('edits, deletions and reactions are seen, and only their owners may make them', async () => {
    const [ann, bob, admin] = await Promise.all([server.newcomer('ann'), server.newcomer('bob'), server.admin()])
    const channel = await ann.creates({ name: server.unique('edits') })
    const stream = await bob.opensStream()
    const message = await ann.says('frist', channel)

    expect((await bob.put(`/messages/${message.id}`, { content: 'mine' })).status).toBe(403)
    expect((await admin.put(`/messages/${message.id}`, { content: 'mine' })).status).toBe(403)
    const edited = await ann.put(`/messages/${message.id}`, { content: 'first' })
    expect(edited).toMatchObject({ status: 200, body: { message: { id: message.id, content: 'first' } } })
    const update = await stream.waitFor('UPDATE_MESSAGE', { id: message.id })
    expect(update.payload).toMatchObject({ content: 'first', seq: 1, updatedAt: edited.body.message.updatedAt })
    expect(update.payload.rev).toBeGreaterThan(message.rev)

    const reacted = await bob.post(`/messages/${message.id}/reactions`, { reaction: '👍' })
    expect(reacted).toMatchObject({ status: 200, body: { message: { reactions: { '👍': [bob.id] } } } })
    await stream.waitFor('NEW_REACTION', { messageId: message.id, userId: bob.id, reaction: '👍' })
    await bob.post(`/messages/${message.id}/reactions`, { reaction: '👍' })
    const both = await ann.post(`/messages/${message.id}/reactions`, { reaction: '👍' })
    expect(both.body.message.reactions).toEqual({ '👍': [bob.id, ann.id] })
    const less = await bob.delete(`/messages/${message.id}/reactions`, { reaction: '👍' })
    expect(less.body.message.reactions).toEqual({ '👍': [ann.id] })
    await stream.waitFor('DELETE_REACTION', { messageId: message.id, userId: bob.id, reaction: '👍' })
    const none = await ann.delete(`/messages/${message.id}/reactions`, { reaction: '👍' })
    expect(none.body.message.reactions).toEqual({})
    expect(stream.all('NEW_REACTION')).toHaveLength(2)

    expect((await bob.delete(`/messages/${message.id}`)).status).toBe(403)
    expect((await ann.delete(`/messages/${message.id}`)).status).toBe(200)
    await stream.waitFor('DELETE_MESSAGE', { id: message.id, channelId: channel.id })
    expect((await ann.get(`/channels/${channel.id}/messages`)).body.messages).toEqual([])
    expect((await ann.put(`/messages/${message.id}`, { content: 'again' })).status).toBe(404)
    expect((await ann.delete(`/messages/${message.id}`)).status).toBe(404)
    expect((await bob.post(`/messages/${message.id}/reactions`, { reaction: '👍' })).status).toBe(404)

    const next = await ann.says('second', channel)
    expect(next.seq).toBe(2)
    expect((await admin.delete(`/messages/${next.id}`)).status).toBe(200)
    await stream.close()
  })

  test('a channel is changed and deleted by its creator or an admin only', async () => {
    const [ann, bob, admin] = await Promise.all([server.newcomer('ann'), server.newcomer('bob'), server.admin()])
    const stream = await bob.opensStream()
    const channel = await ann.creates({ name: server.unique('plans') })
    const renamed = server.unique('better plans')
    expect((await bob.put(`/channels/${channel.id}`, { name: renamed })).status).toBe(403)
    expect(await ann.put(`/channels/${channel.id}`, { name: renamed })).toMatchObject({
      status: 200,
      body: { channel: { id: channel.id, name: renamed, updatedAt: expect.any(Number) } },
    })
    await stream.waitFor('UPDATE_CHANNEL', { id: channel.id, name: renamed })
    expect((await bob.post('/channels', { name: renamed.toUpperCase() })).status).toBe(400)

    const message = await ann.says('soon gone', channel)
    expect((await bob.delete(`/channels/${channel.id}`)).status).toBe(403)
    expect((await admin.delete(`/channels/${channel.id}`)).status).toBe(200)
    await stream.waitFor('DELETE_CHANNEL', { id: channel.id })
    expect((await ann.get(`/channels/${channel.id}/messages`)).status).toBe(404)
    expect((await ann.post(`/channels/${channel.id}/messages`, { content: 'x' })).status).toBe(404)
    expect((await ann.put(`/messages/${message.id}`, { content: 'x' })).status).toBe(404)
    await stream.close()
  })

  test('a quoted message must be of the same channel', async () => {
    const ann = await server.newcomer('ann')
    const [here, there] = [
      await ann.creates({ name: server.unique('here') }),
      await ann.creates({ name: server.unique('there') }),
    ]
    const quoted: Message = await ann.says('quote me', here)
    const quote = (channel: { id: string }) =>
      ann.post(`/channels/${channel.id}/messages`, { content: 'indeed', quotedMessageId: quoted.id })
    expect((await quote(here)).body.message.quotedMessageId).toBe(quoted.id)
    expect((await quote(there)).status).toBe(400)
    expect((await ann.get(`/channels/${there.id}/messages`)).body.messages).toEqual([])
  })
}
