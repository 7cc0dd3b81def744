import type { Message } from '@parley/contract'
import { uuidv7 } from '@parley/database'
import { findMessage } from '@parley/messages'
import { describe, expect, test } from 'vitest'
import { type Person, sendingEnvironment } from './sending.testing.ts'
import { type NewMessage, storeMessage } from './store-message.ts'

const environment = sendingEnvironment()

/** Stores a message as the service does. Returns the answer, the message that is read back, and the recorded event. */
async function store(channelId: string, author: NewMessage['author'], more: Partial<NewMessage> = {}) {
  const { db } = environment.db.as('messaging')
  const id = uuidv7()
  const answer = await db.transaction().execute(async (trx) => {
    const channel = await trx
      .selectFrom('channels')
      .selectAll()
      .where('id', '=', channelId)
      .forNoKeyUpdate()
      .executeTakeFirstOrThrow()
    const content = 'hello "you"\\ \n\t\x1e 日本'
    const message = { content, quotedMessageId: null, mentions: [], createdAt: Date.now(), ...more }
    return (await storeMessage(trx, channel, { ...message, id, author })).response
  })
  return {
    answer: JSON.parse(answer),
    read: await findMessage(environment.db.db, id),
    recorded: await environment.recorded(id),
  }
}

describe('a message that is stored in a separate transaction', () => {
  test('is the same in the answer, in the event and when it is read back', async () => {
    const ann = await environment.person('ann "the\\ one" \u{1f600}')
    const channel = await environment.channel('public')
    const quoted = await store(channel, ann)
    const attachment = { filename: 'a "b".pdf', originalName: 'ü\\.pdf', contentType: 'application/pdf', size: 3 }
    const rich = {
      content: '',
      attachments: [attachment],
      images: ['x "y",z.png', 'w.png'],
      mentions: [ann.userId, '@here'],
      quotedMessageId: quoted.answer.id,
    }
    const { answer, read, recorded } = await store(channel, ann, rich)
    expect(answer).toEqual(read)
    expect(answer).toMatchObject({ seq: 2, author: { id: ann.userId, userName: ann.userName }, ...rich })
    expect(recorded).toMatchObject({
      event: { type: 'NEW_MESSAGE', payload: read },
      routing: { to: 'channel', channel, version: 1 },
    })
  })

  test('has its nonce in the answer and in the event, but not when it is read back', async () => {
    const ann = await environment.person('ann')
    const { answer, read, recorded } = await store(await environment.channel('public'), ann, { nonce: 'n "1"' })
    expect(answer).toEqual({ ...read, nonce: 'n "1"' })
    expect(recorded.event.payload).toEqual(answer)
  })

  test('goes to both participants of a conversation', async () => {
    const [ann, bob] = [await environment.person('ann'), await environment.person('bob')]
    const { answer, read, recorded } = await store(await environment.channel('direct', ann, bob), ann)
    const participants = [ann.userId, bob.userId].sort()
    expect(answer).toEqual(read)
    expect(recorded).toMatchObject({
      event: { type: 'NEW_DM_MESSAGE', payload: { ...read, participants } },
      routing: { to: 'users', users: participants },
    })
  })

  test('has a bot as its author when a webhook posted it', async () => {
    const ada = await environment.person('ada', { isAdmin: true })
    const channelId = await environment.channel('private')
    const webhookId = uuidv7()
    const webhook = { id: webhookId, name: 'build "bot"', channelId, tokenHash: Buffer.alloc(32) }
    await environment.db.db
      .insertInto('webhooks')
      .values({ ...webhook, createdBy: ada.userId, createdAt: 1 })
      .execute()
    const { answer, read, recorded } = await store(channelId, { webhookId })
    expect(answer.author).toEqual({ id: `webhook:${webhookId}`, userName: 'build "bot"', isBot: true })
    expect(answer).toEqual(read)
    expect(recorded.event).toEqual({ type: 'NEW_MESSAGE', payload: read })
  })

  test('updates the summary of the thread on the parent when it is a reply', async () => {
    const people = [
      await environment.person('ann'),
      await environment.person('bob "b"'),
      await environment.person('ann'),
    ]
    const channelId = await environment.channel('public')
    const parentId = (await store(channelId, people[0]!)).answer.id
    for (const [index, author] of [people[1]!, people[0]!, people[1]!].entries()) {
      const { answer, read, recorded } = await store(channelId, author, { parentId })
      expect(answer.reply).toEqual(read)
      expect(answer.reply).toMatchObject({ seq: index + 1, threadId: parentId })
      const parent: Message = await findMessage(environment.db.db, parentId)
      expect(answer).toMatchObject({ threadMeta: parent.threadMeta, parentRev: parent.rev })
      expect(parent.threadMeta).toEqual({
        replyCount: index + 1,
        lastReplyAt: read.createdAt,
        lastReplyBy: viewOf(author),
        participants: [people[1]!.userId, people[0]!.userId].slice(0, index + 1),
      })
      expect(recorded).toMatchObject({
        event: { type: 'NEW_THREAD_REPLY', payload: { parentMessageId: parentId, channelId, ...answer } },
        routing: { to: 'channel', channel: channelId },
      })
    }
    expect(await environment.lastSeq(channelId)).toBe(1)
  })
})

const viewOf = ({ userId, userName }: Person) => ({ id: userId, userName })
