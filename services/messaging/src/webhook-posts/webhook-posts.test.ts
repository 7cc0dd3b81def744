import type { Message, Webhook } from '@parley/contract'
import { uuidv7 } from '@parley/database'
import { Person } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'

const perMinute = 30
const environment = testEnvironment({ webhooks: { perMinute } })
let webhook: Webhook & { token: string }
let bot: Person
let path: string

beforeEach(async () => {
  webhook = await createWebhook('build bot', environment.channel.secret.id)
  bot = holding(webhook.token)
  path = `/webhooks/${webhook.id}/messages`
})

async function createWebhook(name: string, channelId: string): Promise<typeof webhook> {
  return (await environment.people.ada.post('/webhooks', { name, channelId })).body.webhook
}
/** A caller with this token. */
const holding = (token: string) => new Person(environment.baseUrl, { id: '', userName: 'bot' }, token)
const posts = async (content: string, headers = {}): Promise<Message> =>
  (await bot.post(path, { content }, headers)).body.message
const listed = async (channelId: string): Promise<Message[]> =>
  (await environment.people.ada.get(`/channels/${channelId}/messages`)).body.messages

describe('POST /webhooks/:webhookId/messages', () => {
  test('returns the whole message, of a bot, and sends it to the channel', async () => {
    const { ann, bob, cat } = environment.people
    const before = (await listed(webhook.channelId)).at(-1)?.seq ?? 0
    const { status, body } = await bot.post(path, { content: `broken @${bob.userName} @here`, mentions: ['x'] })
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        message: {
          id: expect.any(String),
          channelId: webhook.channelId,
          threadId: null,
          seq: before + 1,
          rev: 1,
          author: { id: `webhook:${webhook.id}`, userName: 'build bot', isBot: true },
          content: `broken @${bob.userName} @here`,
          attachments: [],
          images: [],
          imageSizes: {},
          blocks: [],
          previews: [],
          quotedMessageId: null,
          mentions: [bob.id, '@here'],
          pinnedAt: null,
          createdAt: expect.any(Number),
          updatedAt: null,
          reactions: {},
          threadMeta: null,
        },
      },
    })
    await environment.events.to(ann).toHave('NEW_MESSAGE', body.message)
    await environment.events.to(cat).neverHave('NEW_MESSAGE', { id: body.message.id })
    expect((await listed(webhook.channelId)).at(-1)).toEqual(body.message)
    const { webhooks } = (await environment.people.ada.get('/webhooks')).body
    expect(webhooks).toContainEqual(expect.objectContaining({ id: webhook.id, lastPostedAt: body.message.createdAt }))
  })

  test('uses the same sequence numbers as people, also with concurrent posts', async () => {
    const { ann, bob } = environment.people
    const first = (await ann.says('before', environment.channel.secret)).seq
    const sent = await Promise.all(
      Array.from({ length: 30 }, (_, n) =>
        n % 3 === 0 ? posts(`${n}`) : (n % 3 === 1 ? ann : bob).says(`${n}`, environment.channel.secret),
      ),
    )
    expect(sent.map(({ seq }) => seq).sort((one, other) => one - other)).toEqual(sent.map((_, n) => first + n + 1))
  })

  test('returns the same for the same Idempotency-Key of the same webhook', async () => {
    const key = { 'idempotency-key': 'nightly' }
    const first = await bot.post(path, { content: 'once' }, key)
    expect(await bot.post(path, { content: 'once' }, key)).toMatchObject({ status: 200, body: first.body })
    expect(await bot.post(path, { content: 'twice' }, key)).toMatchObject({ status: 400 })
    expect((await listed(webhook.channelId)).filter(({ author }) => author.id.endsWith(webhook.id))).toHaveLength(1)

    const other = await createWebhook('other bot', environment.channel.secret.id)
    const { body } = await holding(other.token).post(`/webhooks/${other.id}/messages`, { content: 'once' }, key)
    expect(body.message.id).not.toBe(first.body.message.id)
  })

  test('with one key at once stores one message', async () => {
    const key = { 'idempotency-key': 'at once' }
    const responses = await Promise.all(Array.from({ length: 8 }, () => bot.post(path, { content: 'one' }, key)))
    expect(responses.map(({ status }) => status).filter((status) => status !== 409)).toContain(200)
    expect(new Set(responses.flatMap(({ body }) => body.message?.id ?? [])).size).toBe(1)
    expect((await listed(webhook.channelId)).filter(({ author }) => author.id.endsWith(webhook.id))).toHaveLength(1)
  })

  test.each([
    ['nothing', {}],
    ['blank', { content: ' ' }],
    ['invisible', { content: '\u200B' }],
    ['blank with attachments, which are ignored', { content: '', attachments: [] }],
    ['too long', { content: 'a'.repeat(16_001) }],
    ['no text', { content: 7 }],
    ['U+0000', { content: 'a\0b' }],
  ])('%s is 400', async (_what, body) => {
    expect(await bot.post(path, body)).toMatchObject({ status: 400, body: { error: expect.any(String) } })
  })

  test('is limited for each webhook, with the time of the next possible post', async () => {
    for (let n = 0; n < perMinute; n++) expect(await posts(`${n}`)).toMatchObject({ content: `${n}` })
    const { status, headers } = await bot.post(path, { content: 'too much' })
    expect(status).toBe(429)
    expect(Number(headers['retry-after'])).toBeGreaterThan(0)
    expect(Number(headers['retry-after'])).toBeLessThanOrEqual(60)
    const other = await createWebhook('quiet bot', environment.channel.secret.id)
    expect(await holding(other.token).post(`/webhooks/${other.id}/messages`, { content: 'x' })).toMatchObject({
      status: 200,
    })

    environment.pass(60_000)
    expect(await bot.post(path, { content: 'later' })).toMatchObject({ status: 200 })
  })
})

describe('the token of a webhook', () => {
  test('works only for its own webhook', async () => {
    const other = await createWebhook('other bot', environment.channel.open.id)
    const elsewhere = `/webhooks/${other.id}/messages`
    expect(await bot.post(elsewhere, { content: 'x' })).toMatchObject({ status: 401 })
    expect(await holding(other.token).post(elsewhere, { content: 'x' })).toMatchObject({ status: 200 })
  })

  test('works for no other route', async () => {
    const message = await posts('here')
    for (const response of [
      bot.get('/channels'),
      bot.get('/webhooks'),
      bot.delete(`/webhooks/${webhook.id}`),
      bot.get(`/channels/${webhook.channelId}/messages`),
      bot.post(`/channels/${webhook.channelId}/messages`, { content: 'x' }),
      bot.put(`/messages/${message.id}`, { content: 'x' }),
      bot.delete(`/messages/${message.id}`),
      bot.get('/events'),
    ]) {
      expect(await response).toMatchObject({ status: 401 })
    }
  })

  test.each(['ada', 'ann', 'nobody'] as const)('is required: %s gets 401', async (name) => {
    expect(await environment.people[name].post(path, { content: 'x' })).toMatchObject({ status: 401 })
    expect(await environment.people[name].post(path, '{')).toMatchObject({ status: 401 })
  })

  test('is of no use for a webhook that is not there, or no more', async () => {
    for (const id of [uuidv7(), 'nonsense']) {
      expect(await bot.post(`/webhooks/${id}/messages`, { content: 'x' })).toMatchObject({ status: 404 })
    }
    const message = await posts('the last word')
    await environment.people.ada.delete(`/webhooks/${webhook.id}`)
    expect(await bot.post(path, { content: 'x' })).toMatchObject({ status: 404 })
    expect((await listed(webhook.channelId)).at(-1)).toEqual(message)
  })

  test('ends with the channel', async () => {
    const { ada, ann } = environment.people
    const channel = await ann.creates({ name: 'for a while' })
    const its = await createWebhook('bot', channel.id)
    await ada.delete(`/channels/${channel.id}`)
    expect(await holding(its.token).post(`/webhooks/${its.id}/messages`, { content: 'x' })).toMatchObject({
      status: 404,
    })
  })
})

describe('a message of a webhook', () => {
  let message: Message
  beforeEach(async () => {
    message = await posts('look')
  })

  test('can get reactions, pins, quotes and replies like any other', async () => {
    const { ann, bob } = environment.people
    const { author } = message
    const at = `/messages/${message.id}`
    expect(await bob.post(`${at}/reactions`, { reaction: '+1' })).toMatchObject({
      body: { message: { author, reactions: { '+1': [bob.id] } } },
    })
    expect(await ann.post(`${at}/pin`)).toMatchObject({ body: { message: { author, pinnedAt: expect.any(Number) } } })
    const { messages } = (await ann.get(`/channels/${webhook.channelId}/pins`)).body
    expect(messages).toContainEqual(expect.objectContaining({ id: message.id, author }))
    const quote = { content: 'see above', quotedMessageId: message.id }
    expect(await ann.post(`/channels/${webhook.channelId}/messages`, quote)).toMatchObject({ status: 200 })
    expect(await ann.post(`${at}/thread`, { content: 'seen' })).toMatchObject({ status: 200 })
    expect((await listed(webhook.channelId)).find(({ id }) => id === message.id)).toMatchObject({
      author,
      threadMeta: { replyCount: 1, lastReplyBy: { id: ann.id } },
    })
  })

  test('is unread for everybody who may read it', async () => {
    const { ann } = environment.people
    const standing = async () =>
      (await ann.get('/channels')).body.channels.find(({ id }: { id: string }) => id === webhook.channelId)
    await ann.put(`/channels/${webhook.channelId}/read`, { seq: message.seq })
    await posts('one')
    const { seq } = await posts('two @channel')
    expect(await standing()).toMatchObject({ lastSeq: seq, unreadCount: 2, mentionCount: 1 })
  })

  test('is edited by nobody, and deleted by an admin alone', async () => {
    const { ada, ann, bob, cat } = environment.people
    for (const person of [ada, ann, bob, cat]) {
      expect(await person.put(`/messages/${message.id}`, { content: 'x' })).toMatchObject({ status: 403 })
    }
    for (const person of [ann, bob, cat]) {
      expect(await person.delete(`/messages/${message.id}`)).toMatchObject({ status: 403 })
    }
    expect(await ada.delete(`/messages/${message.id}`)).toMatchObject({ status: 200 })
    await environment.events.to(ann).toHave('DELETE_MESSAGE', { id: message.id, channelId: webhook.channelId })
    const entry = await environment.deps.db
      .selectFrom('auditLog')
      .select(['action', 'metadata'])
      .where('targetId', '=', message.id)
      .executeTakeFirst()
    expect(entry).toEqual({
      action: 'message.delete',
      metadata: { channelId: webhook.channelId, authorId: `webhook:${webhook.id}` },
    })
  })
})

describe('a channel in which only a webhook posts', () => {
  let channelId: string
  beforeAll(async () => {
    channelId = (await environment.people.ann.creates({ name: 'machine room' })).id
  })

  test('is folded like any other, so that counting unread messages stays cheap', async () => {
    const { id, token } = await createWebhook('clockwork', channelId)
    await environment.deps.db.updateTable('channels').set({ lastSeq: 255 }).where('id', '=', channelId).execute()
    expect(await holding(token).post(`/webhooks/${id}/messages`, { content: 'tick' })).toMatchObject({
      body: { message: { seq: 256 } },
    })
    await expect
      .poll(() => environment.deps.db.selectFrom('readFolds').selectAll().where('channelId', '=', channelId).execute())
      .toEqual([{ channelId, foldedSeq: 256 }])
  })
})
