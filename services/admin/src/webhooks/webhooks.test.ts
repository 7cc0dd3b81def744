import { createHash } from 'node:crypto'
import { uuidv7 } from '@parley/database'
import { house } from '@parley/test/house'
import { beforeAll, describe, expect, test } from 'vitest'

const home = house()

const create = async (name: string, channelId = home.channel.secret.id) =>
  (await home.people.ada.post('/webhooks', { name, channelId })).body.webhook
const listed = async () => (await home.people.ada.get('/webhooks')).body.webhooks
const entries = (targetId: string) =>
  home.deps.db
    .selectFrom('auditLog')
    .select(['action', 'actorId', 'targetType', 'metadata', 'ip'])
    .where('targetId', '=', targetId)
    .orderBy('id')
    .execute()

describe('POST /webhooks', () => {
  test('answers the webhook with its token, and tells the channel', async () => {
    const { ada, ann, cat } = home.people
    const channelId = home.channel.secret.id
    const { status, body } = await ada.post('/webhooks', { name: '  Build  bot ', channelId })
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        webhook: {
          id: expect.any(String),
          name: 'Build bot',
          channelId,
          createdAt: expect.any(Number),
          createdBy: ada.id,
          lastPostedAt: null,
          token: expect.stringMatching(/^[\w-]{43}$/),
        },
      },
    })
    const { id, token } = body.webhook
    for (const person of [ada, ann]) {
      await home.events.to(person).toHave('NEW_WEBHOOK', { id, name: 'Build bot', channelId })
    }
    await home.events.to(cat).neverHave('NEW_WEBHOOK', { id })
    expect(await entries(id)).toEqual([
      {
        action: 'webhook.create',
        actorId: ada.id,
        targetType: 'webhook',
        metadata: { name: 'Build bot', channelId },
        ip: '127.0.0.1',
      },
    ])

    const row = await home.deps.db.selectFrom('webhooks').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
    expect(row.tokenHash).toEqual(createHash('sha256').update(token).digest())
    expect(JSON.stringify(row)).not.toContain(token)
  })

  test('gives every webhook a token of its own, whatever its name', async () => {
    const [one, other] = [await create('twin'), await create('twin')]
    expect(one.id).not.toBe(other.id)
    expect(one.token).not.toBe(other.token)
  })

  test.each([
    ['an unknown channel', () => ({ name: 'bot', channelId: uuidv7() })],
    ['an id that cannot be one', () => ({ name: 'bot', channelId: 'nonsense' })],
    ['no channel', () => ({ name: 'bot' })],
    ['no name', () => ({ channelId: home.channel.open.id })],
    ['a blank name', () => ({ name: ' ', channelId: home.channel.open.id })],
    ['a long name', () => ({ name: 'a'.repeat(81), channelId: home.channel.open.id })],
    ['a hidden character', () => ({ name: 'bot\u202e', channelId: home.channel.open.id })],
  ])('%s is 400', async (_what, body) => {
    expect(await home.people.ada.post('/webhooks', body())).toMatchObject({
      status: 400,
      body: { error: expect.any(String) },
    })
  })

  test('a conversation is 400, under either of its ids, the caller’s own too', async () => {
    const { ada, ann } = home.people
    const { id } = (await ada.post('/conversations', { targetUserId: ann.id })).body.conversation
    for (const channelId of [id, id.slice('dm:'.length)]) {
      expect(await ada.post('/webhooks', { name: 'bot', channelId })).toMatchObject({ status: 400 })
    }
  })
})

describe('GET /webhooks', () => {
  test('answers all of them oldest first, without tokens', async () => {
    const one = await create('first')
    const { token: _token, ...other } = await create('second', home.channel.open.id)
    const webhooks = await listed()
    expect(webhooks.map(({ id }: { id: string }) => id).slice(-2)).toEqual([one.id, other.id])
    expect(webhooks.at(-1)).toEqual(other)
    expect(JSON.stringify(webhooks)).not.toMatch(/token|hash/i)
  })

  test('leaves out those whose channel was deleted', async () => {
    const { ada, ann } = home.people
    const channel = await ann.creates({ name: 'for a while' })
    const webhook = await create('doomed', channel.id)
    expect(await listed()).toContainEqual(expect.objectContaining({ id: webhook.id }))
    expect(await ann.delete(`/channels/${channel.id}`)).toMatchObject({ status: 200 })
    expect(await listed()).not.toContainEqual(expect.objectContaining({ id: webhook.id }))
    expect(await ada.delete(`/webhooks/${webhook.id}`)).toMatchObject({ status: 404 })
    expect(await ada.post('/webhooks', { name: 'late', channelId: channel.id })).toMatchObject({ status: 400 })
  })
})

describe('DELETE /webhooks/:webhookId', () => {
  test('deletes it once and tells the channel', async () => {
    const { ada, ann, cat } = home.people
    const { id, channelId } = await create('short-lived')
    const statuses = await Promise.all([1, 2, 3].map(async () => (await ada.delete(`/webhooks/${id}`)).status))
    expect(statuses.sort()).toEqual([200, 404, 404])
    await home.events.to(ann).toHave('DELETE_WEBHOOK', { id, channelId })
    await home.events.to(cat).neverHave('DELETE_WEBHOOK', { id })
    expect(await listed()).not.toContainEqual(expect.objectContaining({ id }))
    expect(await entries(id)).toMatchObject([
      { action: 'webhook.create' },
      { action: 'webhook.delete', actorId: ada.id, metadata: { name: 'short-lived', channelId }, ip: '127.0.0.1' },
    ])
  })

  test.each([uuidv7(), 'nonsense', 'webhook:1'])('%s is 404', async (id) => {
    expect(await home.people.ada.delete(`/webhooks/${id}`)).toMatchObject({ status: 404 })
  })
})

describe('webhooks are for admins', () => {
  let path: string
  beforeAll(async () => {
    path = `/webhooks/${(await create('not yours')).id}`
  })

  test.each([
    ['ann', 403],
    ['nobody', 401],
  ] as const)('%s gets %i', async (name, status) => {
    const person = home.people[name]
    const body = { name: 'mine', channelId: home.channel.open.id }
    expect(await person.get('/webhooks')).toMatchObject({ status })
    expect(await person.post('/webhooks', body)).toMatchObject({ status })
    expect(await person.delete(path)).toMatchObject({ status })
  })
})
