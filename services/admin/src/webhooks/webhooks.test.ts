import { createHash } from 'node:crypto'
import { uuidv7 } from '@parley/database'
import { Person } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'

const environment = testEnvironment()

const create = async (name: string, channelId = environment.channel.secret.id) =>
  (await environment.people.ada.post('/webhooks', { name, channelId })).body.webhook
const listed = async () => (await environment.people.ada.get('/webhooks')).body.webhooks
const entries = (targetId: string) =>
  environment.deps.db
    .selectFrom('auditLog')
    .select(['action', 'actorId', 'targetType', 'metadata', 'ip'])
    .where('targetId', '=', targetId)
    .orderBy('id')
    .execute()

describe('POST /webhooks', () => {
  test('returns the webhook with its token, and sends an event to the channel', async () => {
    const { ada, ann, cat } = environment.people
    const channelId = environment.channel.secret.id
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
          isOrphaned: false,
          token: expect.stringMatching(/^[\w-]{43}$/),
          url: expect.stringMatching(/^http:\/\/.+\/hooks\/[\w-]{36}\/[\w-]{43}$/),
        },
      },
    })
    const { id, token } = body.webhook
    for (const person of [ada, ann]) {
      await environment.events.to(person).toHave('NEW_WEBHOOK', { id, name: 'Build bot', channelId })
    }
    await environment.events.to(cat).neverHave('NEW_WEBHOOK', { id })
    expect(await entries(id)).toEqual([
      {
        action: 'webhook.create',
        actorId: ada.id,
        targetType: 'webhook',
        metadata: { name: 'Build bot', channelId },
        ip: '127.0.0.1',
      },
    ])

    const row = await environment.deps.db
      .selectFrom('webhooks')
      .selectAll()
      .where('id', '=', id)
      .executeTakeFirstOrThrow()
    expect(row.tokenHash).toEqual(createHash('sha256').update(token).digest())
    expect(JSON.stringify(row)).not.toContain(token)
  })

  test('gives every webhook its own token, also with equal names', async () => {
    const [one, other] = [await create('twin'), await create('twin')]
    expect(one.id).not.toBe(other.id)
    expect(one.token).not.toBe(other.token)
  })

  test.each([
    ['an unknown channel', () => ({ name: 'bot', channelId: uuidv7() })],
    ['an id that cannot be one', () => ({ name: 'bot', channelId: 'nonsense' })],
    ['no channel', () => ({ name: 'bot' })],
    ['no name', () => ({ channelId: environment.channel.open.id })],
    ['a blank name', () => ({ name: ' ', channelId: environment.channel.open.id })],
    ['a long name', () => ({ name: 'a'.repeat(81), channelId: environment.channel.open.id })],
    ['a hidden character', () => ({ name: 'bot\u202e', channelId: environment.channel.open.id })],
  ])('%s is 400', async (_what, body) => {
    expect(await environment.people.ada.post('/webhooks', body())).toMatchObject({
      status: 400,
      body: { error: expect.any(String) },
    })
  })

  test('a conversation is 400, under either of its ids, the caller’s own too', async () => {
    const { ada, ann } = environment.people
    const { id } = (await ada.post('/conversations', { targetUserId: ann.id })).body.conversation
    for (const channelId of [id, id.slice('dm:'.length)]) {
      expect(await ada.post('/webhooks', { name: 'bot', channelId })).toMatchObject({ status: 400 })
    }
  })
})

describe('GET /webhooks', () => {
  test('returns all of them oldest first, without tokens', async () => {
    const one = await create('first')
    const { token: _token, url: _url, ...other } = await create('second', environment.channel.open.id)
    const webhooks = await listed()
    expect(webhooks.map(({ id }: { id: string }) => id).slice(-2)).toEqual([one.id, other.id])
    expect(webhooks.at(-1)).toEqual(other)
    expect(JSON.stringify(webhooks)).not.toMatch(/token|hash/i)
  })

  test('leaves out those whose channel was deleted', async () => {
    const { ada, ann } = environment.people
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
  test('deletes it once and sends an event to the channel', async () => {
    const { ada, ann, cat } = environment.people
    const { id, channelId } = await create('short-lived')
    const statuses = await Promise.all([1, 2, 3].map(async () => (await ada.delete(`/webhooks/${id}`)).status))
    expect(statuses.sort()).toEqual([200, 404, 404])
    await environment.events.to(ann).toHave('DELETE_WEBHOOK', { id, channelId })
    await environment.events.to(cat).neverHave('DELETE_WEBHOOK', { id })
    expect(await listed()).not.toContainEqual(expect.objectContaining({ id }))
    expect(await entries(id)).toMatchObject([
      { action: 'webhook.create' },
      { action: 'webhook.delete', actorId: ada.id, metadata: { name: 'short-lived', channelId }, ip: '127.0.0.1' },
    ])
  })

  test.each([uuidv7(), 'nonsense', 'webhook:1'])('%s is 404', async (id) => {
    expect(await environment.people.ada.delete(`/webhooks/${id}`)).toMatchObject({ status: 404 })
  })
})

describe('a webhook whose owner is no longer an admin', () => {
  let eve: Person
  let webhook: { id: string; name: string; channelId: string; token: string }
  let round = 0
  beforeEach(async () => {
    const { ada } = environment.people
    eve = await Person.signIn(environment.baseUrl, `eve-${++round}@example.com`)
    await ada.put(`/users/${eve.id}/role`, { role: 'admin' })
    const wish = { name: `bot ${round}`, channelId: environment.channel.open.id }
    webhook = (await eve.post('/webhooks', wish)).body.webhook
  })
  const ref = (isOrphaned: boolean, createdBy: string) => {
    const { id, name, channelId } = webhook
    return { id, name, channelId, createdBy, isOrphaned }
  }
  const posts = (token: string) =>
    new Person(environment.baseUrl, { id: '', userName: 'bot' }, token).post(`/webhooks/${webhook.id}/messages`, {
      content: 'still here',
    })
  const takeOver = (body: object = {}) => environment.people.ada.post(`/webhooks/${webhook.id}/take-over`, body)

  test.each([
    ['removed', () => environment.people.ada.delete(`/users/${eve.id}`), () => environment.people.ada.id],
    [
      'demoted',
      () => environment.people.ada.put(`/users/${eve.id}/role`, { role: 'user' }),
      () => environment.people.ada.id,
    ],
    ['gone by themselves', () => eve.post('/users/exit'), () => eve.id],
  ] as const)('%s, is listed as orphaned, admins get an event, and it is audited', async (_, leave, actor) => {
    const { ada, ann } = environment.people
    expect(await listed()).toContainEqual(expect.objectContaining(ref(false, eve.id)))
    expect(await leave()).toMatchObject({ status: 200 })
    expect(await listed()).toContainEqual(expect.objectContaining(ref(true, eve.id)))
    await environment.events.to(ada).toHave('UPDATE_WEBHOOK', ref(true, eve.id))
    await environment.events.to(ann).neverHave('UPDATE_WEBHOOK', { id: webhook.id })
    expect(await entries(webhook.id)).toMatchObject([
      { action: 'webhook.create' },
      { action: 'webhook.orphan', actorId: actor(), metadata: { name: webhook.name, createdBy: eve.id } },
    ])
    expect(await posts(webhook.token)).toMatchObject({ status: 200 })
  })

  test('is taken over once, when several admins try at the same time', async () => {
    const { ada } = environment.people
    expect(await takeOver()).toMatchObject({ status: 400 })
    await ada.delete(`/users/${eve.id}`)
    const responses = await Promise.all([takeOver(), takeOver(), takeOver()])
    expect(responses.map(({ status }) => status).sort()).toEqual([200, 400, 400])
    const { webhook: taken } = responses.find(({ status }) => status === 200)!.body
    expect(taken).toMatchObject(ref(false, ada.id))
    expect(taken).not.toHaveProperty('token')
    expect(await listed()).toContainEqual(taken)
    await environment.events.to(ada).toHave('UPDATE_WEBHOOK', ref(false, ada.id))
    expect((await entries(webhook.id)).at(-1)).toMatchObject({
      action: 'webhook.take-over',
      actorId: ada.id,
      metadata: { from: eve.id, renewToken: false },
    })
    expect(await posts(webhook.token)).toMatchObject({ status: 200 })
  })

  test('is taken over with a new token: the old one does not work any more', async () => {
    await environment.people.ada.delete(`/users/${eve.id}`)
    const { status, body } = await takeOver({ renewToken: true })
    expect({ status, token: body.webhook.token }).toEqual({ status: 200, token: expect.stringMatching(/^[\w-]{43}$/) })
    expect(await posts(webhook.token)).toMatchObject({ status: 401 })
    expect(await posts(body.webhook.token)).toMatchObject({ status: 200 })
  })

  test('is ended by another admin', async () => {
    await environment.people.ada.delete(`/users/${eve.id}`)
    expect(await environment.people.ada.delete(`/webhooks/${webhook.id}`)).toMatchObject({ status: 200 })
    expect(await posts(webhook.token)).toMatchObject({ status: 404 })
    expect(await takeOver()).toMatchObject({ status: 404 })
  })

  test('is no longer orphaned when that person becomes an admin again', async () => {
    const { ada } = environment.people
    await ada.put(`/users/${eve.id}/role`, { role: 'user' })
    await ada.put(`/users/${eve.id}/role`, { role: 'admin' })
    await environment.events.to(ada).toHave('UPDATE_WEBHOOK', ref(false, eve.id))
    expect(await listed()).toContainEqual(expect.objectContaining(ref(false, eve.id)))
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
    const person = environment.people[name]
    const body = { name: 'mine', channelId: environment.channel.open.id }
    expect(await person.get('/webhooks')).toMatchObject({ status })
    expect(await person.post('/webhooks', body)).toMatchObject({ status })
    expect(await person.delete(path)).toMatchObject({ status })
    expect(await person.post(`${path}/take-over`)).toMatchObject({ status })
  })
})
