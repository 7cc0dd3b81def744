import type { Message } from '@parley/contract'
import { describe, expect, test } from 'vitest'
import { says, sendingEnvironment } from './sending.testing.ts'

const environment = sendingEnvironment()

describe('a send', () => {
  test('is the same message in the table, in the answer and in the event', async () => {
    const ann = await environment.person('ann "the\\ one" \u{1f600}')
    const channel = await environment.channel('public', ann)
    const text = await environment.process().send(says(ann, channel, 'hello "you"\\ \n\t\x1e 日本'))
    const message: Message = JSON.parse(text)
    expect(message).toEqual({
      id: expect.any(String),
      channelId: channel,
      threadId: null,
      seq: 1,
      rev: 1,
      author: { id: ann.userId, userName: ann.userName },
      content: 'hello "you"\\ \n\t\x1e 日本',
      attachments: [],
      images: [],
      imageSizes: {},
      blocks: [],
      previews: [],
      quotedMessageId: null,
      mentions: [],
      pinnedAt: null,
      createdAt: expect.any(Number),
      updatedAt: null,
      reactions: {},
      threadMeta: null,
    })
    const [row] = await environment.stored(channel)
    expect(row).toMatchObject({ id: message.id, seq: 1, content: message.content, authorId: ann.userId, rev: 1 })
    expect(await environment.recorded(message.id)).toMatchObject({
      event: { type: 'NEW_MESSAGE', payload: message },
      routing: { to: 'channel', channel, version: 1 },
      trace: null,
    })
  })

  test('carries mentions and a quote', async () => {
    const ann = await environment.person('ann')
    const channel = await environment.channel('public', ann)
    const sender = environment.process()
    const first: Message = JSON.parse(await sender.send(says(ann, channel, 'first')))
    const rich = says(ann, channel, '', { mentions: [ann.userId, '@here'], quotedMessageId: first.id })
    const message: Message = JSON.parse(await sender.send(rich))
    const { content, mentions, quotedMessageId } = rich
    expect(message).toMatchObject({ seq: 2, content, mentions, quotedMessageId })
    const [, row] = await environment.stored(channel)
    expect(row).toMatchObject({ mentions: [ann.userId, '@here'], quotedMessageId: first.id })
    expect((await environment.recorded(message.id)).event.payload).toEqual(message)
  })

  test('to a conversation is delivered to its participants', async () => {
    const ann = await environment.person('ann')
    const bob = await environment.person('bob')
    const conversation = await environment.channel('direct', ann, bob)
    const text = await environment.process().send(says(ann, conversation, 'psst', { kind: 'conversation' }))
    const message: Message = JSON.parse(text)
    expect(message).toMatchObject({ channelId: `dm:${conversation}`, seq: 1, content: 'psst' })
    const participants = [ann.userId, bob.userId].sort()
    expect(await environment.recorded(message.id)).toMatchObject({
      event: { type: 'NEW_DM_MESSAGE', payload: { ...message, participants } },
      routing: { to: 'users', users: participants },
    })
  })

  test('wakes the relay', async () => {
    const ann = await environment.person('ann')
    let woken = 0
    const sender = environment.process({ wakeRelay: () => woken++ })
    await sender.send(says(ann, await environment.channel('public', ann), 'hello'))
    expect(woken).toBe(1)
  })
})

describe('every send of a shared statement has its own outcome', () => {
  test('allowed sends are stored, and the others are refused', async () => {
    const ann = await environment.person('ann')
    const bob = await environment.person('bob')
    const ada = await environment.person('ada', { isAdmin: true })
    const gone = await environment.person('gone')
    await environment.db.db.updateTable('users').set({ removedAt: 1 }).where('id', '=', gone.userId).execute()
    const ended = await environment.session(ann.userId)
    await environment.db.db.updateTable('sessions').set({ endedAt: 1 }).where('id', '=', ended).execute()
    const expired = await environment.session(ann.userId, { expiresAt: Date.now() - 1 })
    const open = await environment.channel('public', ann)
    const secret = await environment.channel('private', ann)
    const direct = await environment.channel('direct', ann, bob)
    const deleted = await environment.channel('public', ann)
    await environment.db.db.updateTable('channels').set({ deletedAt: 1 }).where('id', '=', deleted).execute()
    const sender = environment.process()
    const elsewhere: Message = JSON.parse(await sender.send(says(ann, secret, 'elsewhere')))
    const asConversation = { kind: 'conversation' } as const

    const outcomes = await Promise.allSettled([
      sender.send(says(ann, secret, 'member')),
      sender.send(says(bob, secret, 'outsider')),
      sender.send(says(ada, secret, 'admin')),
      sender.send(says(ann, open, 'anybody')),
      sender.send(says({ ...ann, sessionId: ended }, open, 'ended')),
      sender.send(says({ ...ann, sessionId: expired }, open, 'expired')),
      sender.send(says({ ...bob, sessionId: ann.sessionId }, open, 'session of another')),
      sender.send(says(gone, open, 'removed')),
      sender.send(says(ann, deleted, 'deleted')),
      sender.send(says(ann, 'no-id', 'no id')),
      sender.send(says({ ...ann, sessionId: ended }, 'no-id', 'ended, no id')),
      sender.send(says(ann, direct, 'participant', asConversation)),
      sender.send(says(ada, direct, 'admins have no special right', asConversation)),
      sender.send(says(ann, direct, 'a conversation is no channel')),
      sender.send(says(ann, open, 'a channel is no conversation', asConversation)),
      sender.send(says(ann, open, 'quotes from elsewhere', { quotedMessageId: elsewhere.id })),
      sender.send(says(ann, open, 'quotes nonsense', { quotedMessageId: 'nonsense' })),
      sender.send(says(ann, secret, 'quotes', { quotedMessageId: elsewhere.id })),
    ])
    expect(outcomes.map((each) => (each.status === 'fulfilled' ? 200 : each.reason.status))).toEqual([
      200, 403, 200, 200, 401, 401, 401, 401, 404, 404, 401, 200, 403, 404, 404, 400, 400, 200,
    ])
    expect((await environment.stored(secret)).map(({ content, seq }) => [seq, content])).toEqual([
      [1, 'elsewhere'],
      [2, 'member'],
      [3, 'admin'],
      [4, 'quotes'],
    ])
    expect((await environment.stored(open)).map(({ content, seq }) => [seq, content])).toEqual([[1, 'anybody']])
    expect(await environment.lastSeq(open)).toBe(1)
  })

  test('the texts of the sends do not mix', async () => {
    const ann = await environment.person('ann')
    const channel = await environment.channel('public', ann)
    const sender = environment.process()
    const separator = '\x1e'
    const outcomes = await Promise.allSettled([
      sender.send(says(ann, separator, 'as channel')),
      sender.send(says(ann, `","content":"forged`, 'as channel')),
      sender.send(says(ann, channel, 'as quote', { quotedMessageId: `${separator}","x":"` })),
      sender.send(says(ann, channel, `as${separator}content`, { mentions: [separator] })),
      sender.send(says(ann, channel, 'neighbour')),
    ])
    expect(outcomes.map((each) => (each.status === 'fulfilled' ? 200 : each.reason.status))).toEqual([
      404, 404, 400, 200, 200,
    ])
    for (const row of await environment.stored(channel)) {
      const { payload } = (await environment.recorded(row.id)).event
      expect(payload).toMatchObject({ id: row.id, seq: row.seq, content: row.content, channelId: channel })
    }
    expect((await environment.stored(channel)).map(({ content }) => content)).toEqual([
      `as${separator}content`,
      'neighbour',
    ])
  })

  test('a value that PostgreSQL refuses fails only its own send', async () => {
    const ann = await environment.person('ann')
    const channel = await environment.channel('public', ann)
    const sender = environment.process()
    const contents = Array.from({ length: 20 }, (_, i) => (i === 3 || i === 11 ? `bad \0 ${i}` : `good ${i}`))
    const outcomes = await Promise.allSettled(contents.map((content) => sender.send(says(ann, channel, content))))
    expect(outcomes.map(({ status }) => status === 'fulfilled')).toEqual(
      contents.map((each) => each.startsWith('good')),
    )
    expect((await environment.stored(channel)).map(({ seq, content }) => [seq, content])).toEqual(
      contents.filter((each) => each.startsWith('good')).map((content, i) => [i + 1, content]),
    )
    expect(await environment.lastSeq(channel)).toBe(18)
  })

  test('when too many sends wait, further ones are refused with Retry-After', async () => {
    const ann = await environment.person('ann')
    const channel = await environment.channel('public', ann)
    const sender = environment.process({ queueLimit: 5 })
    const outcomes = await Promise.allSettled(Array.from({ length: 7 }, () => sender.send(says(ann, channel, 'x'))))
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(5)
    expect(outcomes[6]).toMatchObject({ reason: { status: 503, retryAfter: expect.any(Number) } })
  })
})

describe('seq', () => {
  test('has no gaps and the order of the outbox, with 100 senders to one channel in two processes', async () => {
    const ann = await environment.person('ann')
    const channel = await environment.channel('public', ann)
    const processes = [environment.process(), environment.process()]
    const sent = await Promise.all(
      Array.from({ length: 100 }, async (_, i) => {
        const mine: Message[] = []
        for (let round = 0; round < 5; round++) {
          mine.push(JSON.parse(await processes[i % 2]!.send(says(ann, channel, `${i}/${round}`))))
        }
        return mine
      }),
    )
    const rows = await environment.stored(channel)
    expect(rows.map(({ seq }) => seq)).toEqual(Array.from({ length: 500 }, (_, i) => i + 1))
    expect(await environment.lastSeq(channel)).toBe(500)
    expect(
      sent
        .flat()
        .sort((a, b) => a.seq - b.seq)
        .map(({ id, content }) => [id, content]),
    ).toEqual(rows.map(({ id, content }) => [id, content]))
    const recorded = await environment.db.db
      .selectFrom('outbox')
      .select('event')
      .where('routing', 'like', `%${channel}%`)
      .orderBy('id')
      .execute()
    expect(recorded.map(({ event }) => JSON.parse(event!).payload.seq)).toEqual(rows.map(({ seq }) => seq))
    for (const mine of sent)
      expect(mine.map(({ seq }) => seq)).toEqual(mine.map(({ seq }) => seq).toSorted((a, b) => a - b))
  })
})
