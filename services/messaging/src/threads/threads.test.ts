import type { Message, ThreadMeta } from '@parley/contract'
import { uuidv7 } from '@parley/database'
import type { Person } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'

const environment = testEnvironment()
const replies = async (
  person: Person,
  to: Message,
  body: object = {},
): Promise<{ reply: Message; threadMeta: ThreadMeta; parentRev: number }> => {
  const reply = await person.post(`/messages/${to.id}/thread`, { content: 'reply', ...body })
  expect(reply.status).toBe(200)
  return reply.body
}
/** A message as the listing of its channel shows it. */
const listed = async (message: Message): Promise<Message> => {
  const { body } = await environment.people.ann.get(`/channels/${message.channelId}/messages?limit=200`)
  return body.messages.find(({ id }: Message) => id === message.id)
}
const threadOf = async (parent: Message, query = ''): Promise<Message[]> =>
  (await environment.people.ann.get(`/messages/${parent.id}/thread${query}`)).body.replies

describe('POST /messages/:messageId/thread', () => {
  test('returns the reply and the thread data of its parent, and sends an event to the channel', async () => {
    const { ann, bob, cat } = environment.people
    const parent = await ann.says('what do you think?', environment.channel.secret)
    const first = await replies(bob, parent, { content: `well, @${ann.userName}`, quotedMessageId: parent.id })
    expect(first).toEqual({
      reply: {
        ...parent,
        id: expect.any(String),
        threadId: parent.id,
        seq: 1,
        author: { id: bob.id, userName: bob.userName },
        content: `well, @${ann.userName}`,
        quotedMessageId: parent.id,
        mentions: [ann.id],
        createdAt: expect.any(Number),
      },
      threadMeta: {
        replyCount: 1,
        lastReplyAt: first.reply.createdAt,
        lastReplyBy: { id: bob.id, userName: bob.userName },
        participants: [bob.id],
      },
      parentRev: 2,
    })
    const told = { parentMessageId: parent.id, channelId: parent.channelId, ...first }
    await environment.events.to(ann).toHave('NEW_THREAD_REPLY', told)
    await environment.events.to(cat).neverHave('NEW_THREAD_REPLY', { parentMessageId: parent.id })

    const second = await replies(ann, parent)
    expect(second).toMatchObject({
      reply: { seq: 2 },
      threadMeta: { replyCount: 2, lastReplyBy: { id: ann.id }, participants: [bob.id, ann.id] },
      parentRev: 3,
    })
    expect(await threadOf(parent)).toEqual([first.reply, second.reply])
    expect(await listed(parent)).toEqual({ ...parent, rev: 3, threadMeta: second.threadMeta })
  })

  test('leaves the listing and the seq of the channel alone', async () => {
    const { ann } = environment.people
    const channel = await ann.creates({ name: 'with threads' })
    const parent = await ann.says('parent', channel)
    const { reply } = await replies(ann, parent)
    const next = await ann.says('next', channel)
    expect(next.seq).toBe(parent.seq + 1)
    const { body } = await ann.get(`/channels/${channel.id}/messages`)
    expect(body.messages.map(({ id }: Message) => id)).toEqual([parent.id, next.id])
    expect(await ann.get(`/channels/${channel.id}/messages?before=${reply.id}`)).toMatchObject({ status: 400 })
  })

  test('fifty concurrent replies: each has its place and all are counted', async () => {
    const { ada, ann, bob, cat } = environment.people
    const parent = await ann.says('busy', environment.channel.open)
    const people = [ada, ann, bob, cat]
    const made = await Promise.all(
      Array.from({ length: 50 }, async (_, n) => {
        // Messages of the channel arrive in between.
        if (n % 10 === 0) await bob.says('beside it', environment.channel.open)
        return replies(people[n % 4]!, parent, { content: `${n}` })
      }),
    )
    const inOrder = made.toSorted((one, other) => one.reply.seq - other.reply.seq)
    expect(inOrder.map(({ reply }) => reply.seq)).toEqual(Array.from({ length: 50 }, (_, n) => n + 1))
    expect(inOrder.map(({ threadMeta }) => threadMeta.replyCount)).toEqual(inOrder.map(({ reply }) => reply.seq))
    const { threadMeta, rev } = await listed(parent)
    expect(threadMeta).toEqual(inOrder.at(-1)!.threadMeta)
    expect(threadMeta!.participants).toEqual([...new Set(inOrder.map(({ reply }) => reply.author.id))])
    expect(rev).toBe(51)
    expect(await threadOf(parent, '?limit=200')).toEqual(inOrder.map(({ reply }) => reply))
  })

  test('replies that wait for their channel do not block other requests', async () => {
    const { ann, bob } = environment.people
    const { open } = environment.channel
    const parent = await ann.says('held', open)
    const holder = await environment.deps.db.startTransaction().execute()
    await holder.selectFrom('channels').select('id').where('id', '=', open.id).forNoKeyUpdate().execute()
    const waiting = Array.from({ length: 30 }, (_, n) => replies(bob, parent, { content: `${n}` }))
    expect(await bob.get(`/channels/${open.id}/messages`)).toMatchObject({ status: 200 })
    await holder.commit().execute()
    expect(new Set((await Promise.all(waiting)).map(({ reply }) => reply.seq)).size).toBe(30)
  })

  test('returns the same for the same Idempotency-Key, also when both requests come at once', async () => {
    const { ann, bob } = environment.people
    const parent = await ann.says('once', environment.channel.open)
    const asks = (body: object, person = ann) =>
      person.post(`/messages/${parent.id}/thread`, { content: 'one', ...body }, { 'idempotency-key': 'reply' })
    const together = await Promise.all(Array.from({ length: 8 }, () => asks({})))
    const created = together.filter(({ status }) => status === 200)
    expect(created.length).toBeGreaterThan(0)
    expect(together.filter(({ status }) => status !== 200 && status !== 409)).toEqual([])
    for (const { body } of [...created, await asks({})]) expect(body).toEqual(created[0]!.body)
    expect(await asks({ content: 'another' })).toMatchObject({ status: 400, body: { code: 'idempotency_key_reused' } })
    expect(await asks({}, bob)).toMatchObject({ status: 200 })
    expect(await threadOf(parent)).toHaveLength(2)

    const message = { content: 'one' }
    const elsewhere = await ann.post(`/channels/${environment.channel.open.id}/messages`, message, {
      'idempotency-key': 'reply',
    })
    expect(elsewhere).toMatchObject({ status: 400, body: { code: 'idempotency_key_reused' } })
    await environment.deps.db
      .updateTable('idempotencyKeys')
      .set({ createdAt: Date.now() - 86_400_001 })
      .execute()
    const later = await asks({ content: 'another' })
    expect(later).toMatchObject({ status: 200, body: { reply: { content: 'another', seq: 3 } } })
  })

  test('returns a reply that the previous version has stored for an Idempotency-Key', async () => {
    const { ann } = environment.people
    const parent = await ann.says('before the upgrade', environment.channel.open)
    const asks = () => ann.post(`/messages/${parent.id}/thread`, { content: 'one' }, { 'idempotency-key': 'upgrade' })
    const { body } = await asks()
    await environment.deps.db
      .updateTable('idempotencyKeys')
      .set({ answer: JSON.stringify({ reply: body.reply, threadMeta: body.threadMeta }) })
      .where('key', '=', 'upgrade')
      .execute()
    expect(await asks()).toMatchObject({ status: 200, body: { ...body, parentRev: 0 } })
  })

  test.each([
    ['nothing', {}],
    ['a blank content', { content: ' ' }],
    ['only invisible characters', { content: '\u200B' }],
    ['a content that is too long', { content: 'x'.repeat(16_001) }],
    ['an unknown upload', { content: 'x', images: ['unknown.png'] }],
    ['an unknown quote', { content: 'x', quotedMessageId: uuidv7() }],
  ])('%s is refused', async (_what, body) => {
    const { ann } = environment.people
    const parent = await ann.says('parent', environment.channel.open)
    expect(await ann.post(`/messages/${parent.id}/thread`, body)).toMatchObject({ status: 400 })
    expect(await listed(parent)).toEqual(parent)
  })

  test('is for readers of the parent, which is a message of a channel and not a reply', async () => {
    const { ada, ann, bob, cat, nobody } = environment.people
    const parent = await ann.says('for few', environment.channel.secret)
    const { reply } = await replies(ann, parent)
    for (const ask of [
      (person: Person, id: string) => person.post(`/messages/${id}/thread`, { content: 'x' }),
      (person: Person, id: string) => person.get(`/messages/${id}/thread`),
    ]) {
      const statuses = [ada, bob, cat, nobody].map(async (person) => (await ask(person, parent.id)).status)
      expect(await Promise.all(statuses)).toEqual([200, 200, 403, 401])
      for (const id of [uuidv7(), 'nonsense']) expect(await ask(ann, id)).toMatchObject({ status: 404 })
      expect(await ask(ann, reply.id)).toMatchObject({ status: 400 })
      expect(await ask(ann, await directMessage(ann, bob))).toMatchObject({ status: 400 })
    }
  })
})

describe('GET /messages/:messageId/thread', () => {
  test('returns the newest page oldest first, and earlier pages by reply id, also of a deleted reply', async () => {
    const { ann } = environment.people
    const parent = await ann.says('long', environment.channel.open)
    const [one, two, three] = [await replies(ann, parent), await replies(ann, parent), await replies(ann, parent)]
    expect(await threadOf(parent, '?limit=2')).toEqual([two.reply, three.reply])
    await ann.delete(`/messages/${two.reply.id}`)
    expect(await threadOf(parent, `?before=${two.reply.id}`)).toEqual([one.reply])
    expect(await threadOf(parent, '?limit=100000')).toEqual([one.reply, three.reply])
    for (const query of ['limit=0', 'before=nonsense', `before=${parent.id}`]) {
      expect(await ann.get(`/messages/${parent.id}/thread?${query}`)).toMatchObject({ status: 400 })
    }
  })
})

describe.each([
  [
    '/messages/:messageId/thread/:replyId',
    (parent: Message, reply: Message) => `/messages/${parent.id}/thread/${reply.id}`,
  ],
  ['/messages/:messageId', (_parent: Message, reply: Message) => `/messages/${reply.id}`],
])('PUT and DELETE %s', (_route, at) => {
  test('edit a reply for its author, and send an event to the channel', async () => {
    const { ada, ann, bob, cat, nobody } = environment.people
    const parent = await ann.says('parent', environment.channel.secret)
    const { reply, threadMeta } = await replies(bob, parent)
    const statuses = [ada, ann, cat, nobody].map(
      async (person) => (await person.put(at(parent, reply), { content: 'theirs' })).status,
    )
    expect(await Promise.all(statuses)).toEqual([403, 403, 403, 401])

    const { status, body } = await bob.put(at(parent, reply), { content: 'better' })
    const message = { ...reply, content: 'better', rev: 2, updatedAt: expect.any(Number) }
    expect({ status, body }).toEqual({ status: 200, body: { message } })
    await environment.events
      .to(ann)
      .toHave('UPDATE_THREAD_REPLY', { ...body.message, parentMessageId: parent.id, threadMeta })
    await environment.events.to(ann).neverHave('UPDATE_MESSAGE', { id: reply.id })
    await environment.events.to(cat).neverHave('UPDATE_THREAD_REPLY', { id: reply.id })
    expect(await bob.put(at(parent, reply), { content: ' ' })).toMatchObject({ status: 400 })
  })

  test('delete a reply for its author and admins: the thread is counted again, with an event for the channel', async () => {
    const { ada, ann, bob, cat, nobody } = environment.people
    const parent = await ann.says('parent', environment.channel.secret)
    const [one, two, three] = [await replies(bob, parent), await replies(ann, parent), await replies(bob, parent)]
    const statuses = [ann, cat, nobody].map(async (person) => (await person.delete(at(parent, one.reply))).status)
    expect(await Promise.all(statuses)).toEqual([403, 403, 401])

    const told = { threadId: parent.id, channelId: parent.channelId }
    expect(await bob.delete(at(parent, one.reply))).toMatchObject({ status: 200, body: { success: true } })
    const left = { ...three.threadMeta, replyCount: 2, participants: [ann.id, bob.id] }
    await environment.events
      .to(ann)
      .toHave('DELETE_THREAD_REPLY', { id: one.reply.id, ...told, threadMeta: left, parentRev: 5 })
    expect(await listed(parent)).toEqual({ ...parent, rev: 5, threadMeta: left })

    await ada.delete(at(parent, three.reply))
    expect((await listed(parent)).threadMeta).toEqual({ ...two.threadMeta, replyCount: 1, participants: [ann.id] })
    await ann.delete(at(parent, two.reply))
    await environment.events.to(bob).toHave('DELETE_THREAD_REPLY', { id: two.reply.id, ...told, threadMeta: null })
    await environment.events.to(bob).neverHave('DELETE_MESSAGE', { id: two.reply.id })
    await environment.events.to(cat).neverHave('DELETE_THREAD_REPLY', { threadId: parent.id })
    expect((await listed(parent)).threadMeta).toBeNull()
    expect(await ann.delete(at(parent, two.reply))).toMatchObject({ status: 404 })
    expect(await replies(ann, parent)).toMatchObject({ reply: { seq: 4 }, threadMeta: { replyCount: 1 } })
  })
})

describe('a reply', () => {
  test('is unknown under another message', async () => {
    const { ann } = environment.people
    const [parent, other] = [
      await ann.says('parent', environment.channel.open),
      await ann.says('other', environment.channel.open),
    ]
    const { reply } = await replies(ann, parent)
    for (const wrong of [
      `${other.id}/thread/${reply.id}`,
      `${parent.id}/thread/${other.id}`,
      `nonsense/thread/${reply.id}`,
    ]) {
      expect(await ann.put(`/messages/${wrong}`, { content: 'x' })).toMatchObject({ status: 404 })
      expect(await ann.delete(`/messages/${wrong}`)).toMatchObject({ status: 404 })
    }
  })

  test('can get reactions, but cannot be pinned', async () => {
    const { ann, bob } = environment.people
    const { reply } = await replies(ann, await ann.says('parent', environment.channel.open))
    const { body } = await bob.post(`/messages/${reply.id}/reactions`, { reaction: '+1' })
    expect(body.message).toEqual({ ...reply, reactions: { '+1': [bob.id] }, rev: 2 })
    expect(await ann.post(`/messages/${reply.id}/pin`)).toMatchObject({ status: 400 })
    expect(await ann.delete(`/messages/${reply.id}/pin`)).toMatchObject({ status: 400 })
  })

  test('is deleted with its parent', async () => {
    const { ann, bob } = environment.people
    const parent = await ann.says('parent', environment.channel.open)
    const { reply } = await replies(bob, parent)
    await ann.delete(`/messages/${parent.id}`)
    await environment.events.to(bob).toHave('DELETE_MESSAGE', { id: parent.id })
    expect(await bob.get(`/messages/${parent.id}/thread`)).toMatchObject({ status: 404 })
    expect(await bob.post(`/messages/${parent.id}/thread`, { content: 'x' })).toMatchObject({ status: 404 })
    expect(await bob.put(`/messages/${reply.id}`, { content: 'x' })).toMatchObject({ status: 404 })
  })

  test('is deleted with its parent, also among very many', async () => {
    const { ann, bob } = environment.people
    const parent = await ann.says('parent of a machine', environment.channel.open)
    const { reply } = await replies(bob, parent)
    // One more reply than a statement can have parameters.
    await sql`insert into messages (id, channel_id, thread_id, seq, author_id, content, created_at)
      select gen_random_uuid(), channel_id, thread_id, n, author_id, content, created_at
      from messages, generate_series(2, 65536) n where id = ${reply.id}`.execute(environment.deps.db)
    expect(await ann.delete(`/messages/${parent.id}`)).toMatchObject({ status: 200 })
    expect(await bob.put(`/messages/${reply.id}`, { content: 'x' })).toMatchObject({ status: 404 })
  })
})

async function directMessage(person: Person, other: Person): Promise<string> {
  const { conversation } = (await person.post('/conversations', { targetUserId: other.id })).body
  const { body } = await person.post(`/conversations/${conversation.id}/messages`, { content: 'psst' })
  return body.message.id
}
