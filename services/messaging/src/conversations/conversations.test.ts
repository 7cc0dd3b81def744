import type { Conversation } from '@parley/contract'
import { uuidv7 } from '@parley/database'
import { Person } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { describe, expect, test } from 'vitest'

const environment = testEnvironment()
const newcomer = (name: string) => Person.signIn(environment.baseUrl, `${name}-${uuidv7()}@example.com`)
const opens = async (person: Person, other: { id: string }) => {
  const { status, body } = await person.post('/conversations', { targetUserId: other.id })
  expect(status).toBe(200)
  return body
}
const listOf = async (person: Person) => (await person.get('/conversations')).body.conversations

describe('POST /conversations', () => {
  test('creates it once, from either side, with an event for each participant that has the other person', async () => {
    const { ann, bob, cat, ada } = environment.people
    const participants = [ann.id, bob.id].sort()
    const { status, body } = await ann.post('/conversations', { targetUserId: bob.id })
    const conversation = {
      id: expect.stringMatching(/^dm:/),
      participants,
      otherUser: { id: bob.id, userName: bob.userName },
      createdAt: expect.any(Number),
    }
    expect({ status, body }).toEqual({ status: 200, body: { conversation, isNew: true } })
    const { id, createdAt } = body.conversation
    expect(await opens(ann, bob)).toEqual({ ...body, isNew: false })
    expect(await opens(bob, ann)).toEqual({
      conversation: { ...body.conversation, otherUser: { id: ann.id, userName: ann.userName } },
      isNew: false,
    })
    for (const [person, { id: otherId, userName }] of [
      [ann, bob],
      [bob, ann],
    ] as const) {
      const otherUser = { id: otherId, userName }
      await environment.events.to(person).toHave('NEW_CONVERSATION', { id, participants, otherUser, createdAt })
      const namesOneself = (payload: Conversation) => payload.id === id && payload.otherUser.id === person.id
      await environment.events.to(person).neverHave('NEW_CONVERSATION', namesOneself)
    }
    for (const person of [ada, cat]) await environment.events.to(person).neverHave('NEW_CONVERSATION', { id })
  })

  test('twenty concurrent requests from both sides: one creates it', async () => {
    const [one, other] = [await newcomer('one'), await newcomer('other')]
    const responses = await Promise.all(
      Array.from({ length: 20 }, (_, n) => (n % 2 ? opens(one, other) : opens(other, one))),
    )
    expect(responses.filter(({ isNew }) => isNew)).toHaveLength(1)
    expect(new Set(responses.map(({ conversation }) => conversation.id)).size).toBe(1)
    const recorded = environment.deps.db
      .selectFrom('outbox')
      .select('event')
      .where('event', 'like', `%NEW_CONVERSATION%${responses[0].conversation.id}%`)
    // One event for each participant.
    expect(await recorded.execute()).toHaveLength(2)
  })

  test.each([
    ['oneself', () => ({ targetUserId: environment.people.ann.id })],
    ['oneself in capitals', () => ({ targetUserId: environment.people.ann.id.toUpperCase() })],
    ['somebody unknown', () => ({ targetUserId: uuidv7() })],
    ['what is no id', () => ({ targetUserId: 'bob' })],
    ['another type', () => ({ targetUserId: 7 })],
    ['nobody', () => ({})],
  ])('with %s is refused', async (_whom, body) => {
    expect(await environment.people.ann.post('/conversations', body())).toMatchObject({
      status: 400,
      body: { error: expect.any(String) },
    })
  })

  test('is for those who are signed in', async () => {
    const { ann, nobody } = environment.people
    expect(await nobody.post('/conversations', { targetUserId: ann.id })).toMatchObject({ status: 401 })
    expect(await nobody.get('/conversations')).toMatchObject({ status: 401 })
  })
})

describe('GET /conversations', () => {
  test('returns the caller’s conversations, newest message first', async () => {
    const me = await newcomer('me')
    const { ann, bob, cat } = environment.people
    const ids: string[] = []
    for (const person of [ann, bob, cat]) {
      environment.pass(10)
      ids.push((await opens(me, person)).conversation.id)
    }
    environment.pass(10)
    const { body } = await ann.post(`/conversations/${ids[0]}/messages`, { content: 'hello' })

    const listed = await listOf(me)
    expect(listed.map(({ id }: { id: string }) => id)).toEqual([ids[0], ids[2], ids[1]])
    expect(listed[0]).toEqual({
      id: ids[0],
      participants: [me.id, ann.id].sort(),
      otherUser: { id: ann.id, userName: ann.userName },
      createdAt: expect.any(Number),
      lastMessageAt: body.message.createdAt,
      isMuted: false,
      isFavourite: false,
      notifiesOfAll: false,
      lastSeq: 1,
      readSeq: 0,
      unreadCount: 1,
      mentionCount: 0,
    })
    expect(listed[1]).toMatchObject({ lastMessageAt: listed[1].createdAt, lastSeq: 0 })
    expect(await listOf(await newcomer('lonely'))).toEqual([])
  })

  test('when the other person has left it can be read and found, and new messages are refused', async () => {
    const { ann } = environment.people
    const leaver = await newcomer('leaver')
    const { conversation } = await opens(ann, leaver)
    await leaver.post(`/conversations/${conversation.id}/messages`, { content: 'bye' })
    expect(await leaver.post('/users/exit')).toMatchObject({ status: 200 })

    expect(await listOf(ann)).toContainEqual(expect.objectContaining({ id: conversation.id, lastSeq: 1 }))
    expect(await opens(ann, leaver)).toEqual({ conversation, isNew: false })
    const path = `/conversations/${conversation.id}/messages`
    const refusal = { status: 400, body: { code: 'recipient_gone', error: expect.stringMatching(/removed|left/) } }
    expect(await ann.post(path, { content: 'anyway' })).toMatchObject(refusal)
    expect(await ann.post(path, { content: '', images: [] })).toMatchObject(refusal)
    expect(await ann.post(path, { content: 'again' }, { 'idempotency-key': 'to nobody' })).toMatchObject(refusal)
    const file = { filename: 'a.txt', contentType: 'text/plain', file: Buffer.from('text').toString('base64') }
    const { attachment } = (await ann.post('/files', file)).body
    expect(await ann.post(path, { content: 'a file', attachments: [attachment] })).toMatchObject(refusal)
    const { messages } = (await ann.get(path)).body
    expect(messages).toMatchObject([{ content: 'bye', author: { userName: leaver.userName } }])
    expect(await ann.put(`/conversations/${conversation.id}/read`, { seq: 1 })).toMatchObject({ status: 200 })

    const { cat } = environment.people
    expect(await cat.post('/conversations', { targetUserId: leaver.id })).toMatchObject(refusal)
  })

  test('a direct message to a person whom an admin has removed is refused, and their messages stay', async () => {
    const { ada, ann } = environment.people
    const removed = await newcomer('removed')
    const path = `/conversations/${(await opens(ann, removed)).conversation.id}/messages`
    expect(await ann.post(path, { content: 'hello' })).toMatchObject({ status: 200 })
    await ada.delete(`/users/${removed.id}`)
    expect(await ann.post(path, { content: 'still there?' })).toMatchObject({ status: 400 })
    expect((await ann.get(path)).body.messages).toMatchObject([{ content: 'hello' }])
  })
})
