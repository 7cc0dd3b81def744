import { Person } from '@parley/test'
import { expect, test } from 'vitest'
import type { TestServer } from '../src/test-server.ts'

export function talkJourneys(server: TestServer) {
  test('two people talk in the one conversation they have, and nobody else hears of it', async () => {
    const [ann, bob, admin] = await Promise.all([server.newcomer('ann'), server.newcomer('bob'), server.admin()])
    const [toAnn, toBob, toAdmin] = await Promise.all([ann, bob, admin].map((person) => person.opensStream()))

    const opened = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        n % 2
          ? ann.post('/conversations', { targetUserId: bob.id })
          : bob.post('/conversations', { targetUserId: ann.id }),
      ),
    )
    expect(opened.map(({ status }) => status)).toEqual(Array(20).fill(200))
    expect(opened.filter(({ body }) => body.isNew)).toHaveLength(1)
    const { id, participants } = opened[0]!.body.conversation
    expect(new Set(opened.map(({ body }) => body.conversation.id))).toEqual(new Set([id]))
    await Promise.all([toAnn!, toBob!].map((stream) => stream.waitFor('NEW_CONVERSATION', { id, participants })))

    const path = `/conversations/${id}`
    const { message } = (await ann.post(`${path}/messages`, { content: `psst @${bob.userName}` })).body
    const told = await toBob!.waitFor('NEW_DM_MESSAGE', { id: message.id })
    expect(told.payload).toEqual({ ...message, participants })
    const before = {
      id,
      otherUser: { id: ann.id, userName: ann.userName },
      lastSeq: 1,
      unreadCount: 1,
      mentionCount: 1,
    }
    expect((await bob.get('/conversations')).body.conversations).toMatchObject([before])
    expect((await bob.put(`${path}/read`, { seq: 1 })).body).toMatchObject({ readSeq: 1, unreadCount: 0 })
    await toBob!.waitFor('READ_UPDATE', { channelId: id, readSeq: 1, unreadCount: 0, mentionCount: 0 })

    await bob.put(`${path}/typing`)
    const typing = await toAnn!.waitFor('TYPING', { channelId: id, userId: bob.id })
    expect(typing.cursor).toBeUndefined()

    expect(await admin.get(`${path}/messages`)).toMatchObject({ status: 403 })
    const { channels } = (await admin.get('/channels')).body
    const marker = await admin.says(
      'marker',
      channels.find(({ name }: { name: string }) => name === 'General'),
    )
    await toAdmin!.waitFor('NEW_MESSAGE', { id: marker.id })
    const heard = toAdmin!.received.filter(({ payload }) => JSON.stringify(payload).includes(id))
    expect(heard).toEqual([])
    await Promise.all([toAnn!, toBob!, toAdmin!].map((stream) => stream.close()))
  })

  test('a thread is answered by many at once', async () => {
    const [ann, bob] = await Promise.all([server.newcomer('ann'), server.newcomer('bob')])
    const channel = await ann.creates({ name: server.unique('threads') })
    const parent = await ann.says('what do you think?', channel)
    const made = await Promise.all(
      Array.from({ length: 50 }, (_, n) =>
        (n % 2 ? ann : bob).post(`/messages/${parent.id}/thread`, { content: `${n}` }),
      ),
    )
    const seqs = made.map(({ body }) => body.reply.seq).toSorted((one, other) => one - other)
    expect(seqs).toEqual(Array.from({ length: 50 }, (_, n) => n + 1))
    const { messages } = (await bob.get(`/channels/${channel.id}/messages`)).body
    expect(messages).toMatchObject([{ id: parent.id, threadMeta: { replyCount: 50 } }])
    const newest = made.find(({ body }) => body.reply.seq === 50)!.body
    expect(messages[0].threadMeta).toEqual(newest.threadMeta)
  })

  test('a webhook posts to its channel, with a token that opens nothing else, until the channel is gone', async () => {
    const [ann, admin] = [await server.newcomer('ann'), await server.admin()]
    const channel = await ann.creates({ name: server.unique('builds'), isPrivate: true })
    const toAnn = await ann.opensStream()
    const { webhook } = (await admin.post('/webhooks', { name: 'build bot', channelId: channel.id })).body
    await toAnn.waitFor('NEW_WEBHOOK', { id: webhook.id, name: 'build bot', channelId: channel.id })

    const bot = new Person(server.baseUrl, { id: '', userName: 'bot' }, webhook.token)
    const path = `/webhooks/${webhook.id}/messages`
    const key = { 'idempotency-key': server.unique('build') }
    const posts = await Promise.all([1, 2, 3].map(() => bot.post(path, { content: 'green' }, key)))
    expect(posts.map(({ status }) => status).filter((status) => status !== 409)).toContain(200)
    const { message } = posts.find(({ status }) => status === 200)!.body
    expect(message).toMatchObject({
      seq: 1,
      author: { id: `webhook:${webhook.id}`, userName: 'build bot', isBot: true },
    })
    expect((await toAnn.waitFor('NEW_MESSAGE', { id: message.id })).payload).toEqual(message)
    expect((await ann.get(`/channels/${channel.id}/messages`)).body.messages).toEqual([message])
    expect((await bot.get('/channels')).status).toBe(401)
    expect((await admin.post(path, { content: 'x' })).status).toBe(401)

    await ann.delete(`/channels/${channel.id}`)
    await toAnn.waitFor('DELETE_CHANNEL', { id: channel.id })
    expect((await bot.post(path, { content: 'x' })).status).toBe(404)
    await toAnn.close()
  })

  test('a message or a reply in a public channel makes its author a member, with an event for the channel', async () => {
    const [ann, bob, cat] = await Promise.all(['ann', 'bob', 'cat'].map((name) => server.newcomer(name)))
    const toAnn = await ann!.opensStream()
    const channel = await ann!.creates({ name: server.unique('open') })
    const parent = await bob!.says('I join by this', channel)
    expect(await cat!.post(`/messages/${parent.id}/thread`, { content: 'so do I' })).toMatchObject({ status: 200 })

    const joined = () => toAnn.all('UPDATE_CHANNEL').filter(({ id }) => id === channel.id)
    await toAnn.until(
      () => joined().length >= 2,
      () => `${joined().length} of 2 have joined`,
    )
    expect(joined().map((change) => change.joined)).toEqual([[bob!.id], [cat!.id]])
    expect((await ann!.get(`/channels/${channel.id}`)).body.channel).toMatchObject({
      members: [ann!.id, bob!.id, cat!.id],
      memberCount: 3,
    })
    await toAnn.close()
  })

  test('concurrent first posts to a public channel: all authors join it, and no message is lost', async () => {
    const ann = await server.newcomer('ann')
    const channel = await ann.creates({ name: server.unique('busy') })
    const people = await Promise.all(Array.from({ length: 12 }, () => server.newcomer('new')))
    const sent = await Promise.all(people.map((person) => person.says(`first of ${person.userName}`, channel)))
    const listed = await ann.readsAll(`/channels/${channel.id}/messages`)
    expect(listed.map(({ seq }) => seq)).toEqual(people.map((_, index) => index + 1))
    expect(new Set(listed.map(({ id }) => id))).toEqual(new Set(sent.map(({ id }) => id)))
    const { members } = (await ann.get(`/channels/${channel.id}`)).body.channel
    expect(new Set(members)).toEqual(new Set([ann, ...people].map(({ id }) => id)))
  })
}
