import type { Message } from '@parley/contract'
import { uuidv7 } from '@parley/database'
import { testEnvironment } from '@parley/test/test-environment'
import { beforeAll, describe, expect, test } from 'vitest'

const environment = testEnvironment()
let id: string
let path: string
let participants: string[]

/** Ann talks with Ada, who is an admin. Bob, Ann's friend, and Cat are other people. */
beforeAll(async () => {
  const { ann, ada } = environment.people
  participants = [ann.id, ada.id].sort()
  id = (await ann.post('/conversations', { targetUserId: ada.id })).body.conversation.id
  path = `/conversations/${id}/messages`
})
const says = async (content: string): Promise<Message> =>
  (await environment.people.ann.post(path, { content })).body.message

describe('POST /conversations/:conversationId/messages', () => {
  test('returns the whole message and sends it to the participants', async () => {
    const { ann, ada, bob } = environment.people
    const { status, body } = await ann.post(path, { content: `psst @${ada.userName}` })
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        message: {
          id: expect.any(String),
          channelId: id,
          threadId: null,
          seq: 1,
          rev: 1,
          author: { id: ann.id, userName: ann.userName },
          content: `psst @${ada.userName}`,
          attachments: [],
          images: [],
          imageSizes: {},
          blocks: [],
          previews: [],
          quotedMessageId: null,
          mentions: [ada.id],
          pinnedAt: null,
          createdAt: expect.any(Number),
          updatedAt: null,
          reactions: {},
          threadMeta: null,
        },
      },
    })
    for (const person of [ann, ada]) {
      await environment.events.to(person).toHave('NEW_DM_MESSAGE', { ...body.message, participants })
    }
    await environment.events.to(bob).neverHave('NEW_DM_MESSAGE', { id: body.message.id })
  })

  test('returns the same for the same Idempotency-Key, and quotes only within the conversation', async () => {
    const { ann } = environment.people
    const key = { 'idempotency-key': 'dm' }
    const first = await ann.post(path, { content: 'once' }, key)
    expect((await ann.post(path, { content: 'once' }, key)).body).toEqual(first.body)
    expect(await ann.post(path, { content: 'twice' }, key)).toMatchObject({ status: 400 })
    const quotedMessageId = first.body.message.id
    expect(await ann.post(path, { content: 'x', quotedMessageId })).toMatchObject({
      body: { message: { quotedMessageId } },
    })
    const elsewhere = await ann.says('in a channel', environment.channel.open)
    expect(await ann.post(path, { content: 'x', quotedMessageId: elsewhere.id })).toMatchObject({ status: 400 })
    expect(await ann.post(path, { content: ' ' })).toMatchObject({ status: 400 })
  })
})

describe('GET /conversations/:conversationId/messages', () => {
  test('returns the newest page oldest first, and earlier pages', async () => {
    const { ada } = environment.people
    const [one, two, three] = [await says('1'), await says('2'), await says('3')]
    expect((await ada.get(`${path}?limit=2`)).body.messages).toEqual([two, three])
    expect((await ada.get(`${path}?limit=1&before=${two.id}`)).body.messages).toEqual([one])
    expect(await ada.get(`${path}?before=${uuidv7()}`)).toMatchObject({ status: 400 })
    expect(await ada.get(`${path}?limit=0`)).toMatchObject({ status: 400 })
  })
})

describe.each([
  ['/messages/:messageId', (message: Message) => `/messages/${message.id}`],
  ['/conversations/:conversationId/messages/:messageId', (message: Message) => `${path}/${message.id}`],
])('PUT and DELETE %s', (_route, at) => {
  test('edit for the author only, with an event for the participants', async () => {
    const { ann, ada, bob } = environment.people
    const message = await says('psst')
    expect(await ada.put(at(message), { content: 'x' })).toMatchObject({ status: 403 })
    const { status, body } = await ann.put(at(message), { content: 'hush' })
    expect({ status, body }).toMatchObject({
      status: 200,
      body: { message: { channelId: id, content: 'hush', rev: 2 } },
    })
    await environment.events.to(ada).toHave('UPDATE_DM_MESSAGE', { ...body.message, participants })
    await environment.events.to(bob).neverHave('UPDATE_DM_MESSAGE', { id: message.id })
  })

  test('delete for the author only, not for an admin, with an event for the participants', async () => {
    const { ann, ada, bob } = environment.people
    const message = await says('gone')
    expect(await ada.delete(at(message))).toMatchObject({ status: 403 })
    expect(await ann.delete(at(message))).toMatchObject({ status: 200, body: { success: true } })
    const deleted = { id: message.id, channelId: id, conversationId: id, participants }
    await environment.events.to(ada).toHave('DELETE_DM_MESSAGE', deleted)
    await environment.events.to(bob).neverHave('DELETE_DM_MESSAGE', { id: message.id })
    expect(await ann.delete(at(message))).toMatchObject({ status: 404 })
  })
})

describe('a conversation', () => {
  test('is its participants’ alone, on every route: admins are others too', async () => {
    const { ann, bob, cat, ada, nobody } = environment.people
    const { conversation } = (await bob.post('/conversations', { targetUserId: ann.id })).body
    const its = `/conversations/${conversation.id}/messages`
    const { message } = (await bob.post(its, { content: 'between us' })).body
    for (const [person, refusal] of [
      [ada, 403],
      [cat, 403],
      [nobody, 401],
    ] as const) {
      const statuses = [
        person.get(its),
        person.post(its, { content: 'x' }),
        person.put(`${its}/${message.id}`, { content: 'x' }),
        person.delete(`${its}/${message.id}`),
        person.put(`/messages/${message.id}`, { content: 'x' }),
        person.delete(`/messages/${message.id}`),
        person.post(`/messages/${message.id}/pin`),
        person.delete(`/messages/${message.id}/pin`),
        person.post(`/messages/${message.id}/reactions`, { reaction: 'x' }),
        person.delete(`/messages/${message.id}/reactions`, { reaction: 'x' }),
      ].map(async (response) => (await response).status)
      expect(await Promise.all(statuses)).toEqual(statuses.map(() => refusal))
    }
    expect((await ann.get(its)).body.messages).toEqual([message])
  })

  test('keeps its messages: under other paths they are unknown', async () => {
    const { ann, cat } = environment.people
    const message = await says('here')
    const other = (await ann.post('/conversations', { targetUserId: cat.id })).body.conversation.id
    const inChannel = await ann.says('in a channel', environment.channel.open)
    for (const wrong of [
      `/conversations/${other}/messages/${message.id}`,
      `${path}/${inChannel.id}`,
      `/conversations/dm:${inChannel.channelId}/messages/${inChannel.id}`,
      `${path}/${uuidv7()}`,
      `/conversations/nonsense/messages/${message.id}`,
      `/conversations/dm:nonsense/messages/${message.id}`,
    ]) {
      expect(await ann.put(wrong, { content: 'x' })).toMatchObject({ status: 404 })
      expect(await ann.delete(wrong)).toMatchObject({ status: 404 })
    }
  })

  test('is not reached through the routes of channels, nor a channel through those of conversations', async () => {
    const { ann } = environment.people
    for (const channelId of [id.slice('dm:'.length), id]) {
      expect(await ann.get(`/channels/${channelId}/messages`)).toMatchObject({ status: 404 })
      expect(await ann.post(`/channels/${channelId}/messages`, { content: 'x' })).toMatchObject({ status: 404 })
    }
    for (const unknown of [
      `dm:${environment.channel.open.id}`,
      environment.channel.open.id,
      id.slice(3),
      `dm:${uuidv7()}`,
      'dm:',
    ]) {
      expect(await ann.get(`/conversations/${unknown}/messages`)).toMatchObject({ status: 404 })
      expect(await ann.post(`/conversations/${unknown}/messages`, { content: 'x' })).toMatchObject({ status: 404 })
    }
  })

  test('allows reactions of the participants, but no pins', async () => {
    const { ann, ada, bob } = environment.people
    const message = await says('react')
    expect(await ada.post(`/messages/${message.id}/reactions`, { reaction: '+1' })).toMatchObject({ status: 200 })
    const change = { messageId: message.id, channelId: id, userId: ada.id, reaction: '+1' }
    await environment.events.to(ann).toHave('NEW_REACTION', change)
    await environment.events.to(bob).neverHave('NEW_REACTION', { messageId: message.id })
    expect(await ann.post(`/messages/${message.id}/pin`)).toMatchObject({ status: 400 })
    expect(await ann.delete(`/messages/${message.id}/pin`)).toMatchObject({ status: 400 })
  })
})
