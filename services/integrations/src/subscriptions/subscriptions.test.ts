import { Person } from '@parley/test'
import { beforeAll, describe, expect, test } from 'vitest'
import { createsBot } from '../bot.testing.ts'
import { eventually, receives, subscriptionEnvironment } from './subscriptions.testing.ts'

const context = subscriptionEnvironment()
const { environment, subscribes, saysInOrder } = context
let bot: Person
beforeAll(() => {
  bot = context.bot
})

describe('subscriptions', () => {
  test('are for admins, and for bots only their own', async () => {
    const { ann, ada } = environment.people
    const body = { url: 'https://receiver.example/', events: ['NEW_MESSAGE'] }
    expect(await ann.post('/subscriptions', body)).toMatchObject({ status: 403 })
    expect(await ann.get('/subscriptions')).toMatchObject({ status: 403 })
    expect(await ada.post('/subscriptions', { ...body, botId: ann.id })).toMatchObject({ status: 403 })
    expect(await bot.post('/subscriptions', { ...body, botId: ann.id })).toMatchObject({ status: 403 })
    const { id } = await subscribes(body.url)
    for (const response of [
      await ann.get(`/subscriptions/${id}`),
      await ann.put(`/subscriptions/${id}`, { isPaused: true }),
      await ann.delete(`/subscriptions/${id}`),
      await ann.post(`/subscriptions/${id}/replay`, { since: 1 }),
      await ann.get(`/subscriptions/${id}/deliveries`),
    ])
      expect(response).toMatchObject({ status: 403 })
    const listed = (await bot.get('/subscriptions')).body.subscriptions
    expect(listed).toContainEqual(expect.objectContaining({ id, botId: bot.id, createdBy: bot.id }))
    expect(JSON.stringify(listed)).not.toContain('whsec_')
    expect(await bot.delete(`/subscriptions/${id}`)).toMatchObject({ status: 200 })
    expect(await bot.get(`/subscriptions/${id}`)).toMatchObject({ status: 404 })
  })

  test('of a bot that was removed are unknown', async () => {
    const { ada } = environment.people
    const former = await createsBot(environment, 'former bot')
    const body = { url: 'https://receiver.example/', events: ['NEW_MESSAGE'] }
    const { id } = (await former.post('/subscriptions', body)).body.subscription
    const listed = async () =>
      (await ada.get('/subscriptions')).body.subscriptions.map((each: { id: string }) => each.id)
    expect(await listed()).toContain(id)
    expect(await ada.delete(`/bots/${former.id}`)).toMatchObject({ status: 200 })
    expect(await listed()).not.toContain(id)
    expect(await ada.get(`/subscriptions/${id}`)).toMatchObject({ status: 404 })
    expect(await ada.put(`/subscriptions/${id}`, { isPaused: true })).toMatchObject({ status: 404 })
  })

  test('of a bot is changed by an API token of an admin only if it has the scope admin', async () => {
    const { ada } = environment.people
    const receiver = await receives()
    const withScope = async (scope: string) => {
      const { body } = await ada.post('/auth/tokens', { name: scope, scopes: [scope] })
      return new Person(environment.baseUrl, ada, body.token)
    }
    const [writer, admin] = [await withScope('write'), await withScope('admin')]
    const wish = { url: receiver.url, events: ['NEW_DM_MESSAGE'], botId: bot.id }
    const refused = { status: 403, body: { code: 'insufficient_scope' } }
    expect(await writer.post('/subscriptions', wish)).toMatchObject(refused)
    const { id } = await subscribes(receiver.url, { botId: bot.id }, admin)
    expect(await writer.put(`/subscriptions/${id}`, { url: receiver.url })).toMatchObject(refused)
    expect(await writer.delete(`/subscriptions/${id}`)).toMatchObject(refused)
    expect((await writer.get(`/subscriptions/${id}`)).status).toBe(200)
    expect((await admin.put(`/subscriptions/${id}`, { isPaused: true })).status).toBe(200)
  })

  test.each([
    [{ url: 'ftp://a.example' }],
    [{ url: 'https://ann:secret@a.example' }],
    [{ events: [] }],
    [{ events: ['TYPING'] }],
    [{ events: ['toString'] }],
    [{ channelIds: ['nonsense'] }],
    [{ secret: 'short' }],
    [{ secret: 'whsec_c2hvcnQ=' }],
  ])('refuse %j', async (wish) => {
    const body = { url: 'https://receiver.example/', events: ['NEW_MESSAGE'], ...wish }
    expect(await bot.post('/subscriptions', body)).toMatchObject({ status: 400 })
  })

  test.each(['the bot', 'an admin'])('of a bot are at most 50, also when %s creates many at once', async (by) => {
    const { ada } = environment.people
    const { id } = (await ada.post('/bots', { userName: `eager bot of ${by}` })).body.bot
    const { token } = (await ada.post(`/bots/${id}/tokens`, { name: 'all', scopes: ['write'] })).body
    const eager = new Person(environment.baseUrl, { id, userName: 'eager' }, token)
    const create = (n: number) => {
      const wish = { url: `https://example.com/${n}`, events: ['NEW_MESSAGE'] }
      return by === 'the bot' ? eager.post('/subscriptions', wish) : ada.post('/subscriptions', { ...wish, botId: id })
    }
    const responses = await Promise.all(Array.from({ length: 70 }, (_, n) => create(n)))
    const refused = responses.filter(({ status }) => status !== 200)
    expect((await eager.get('/subscriptions')).body.subscriptions).toHaveLength(50)
    expect(refused.map(({ status, body }) => [status, body.error])).toEqual(
      Array(20).fill([400, 'A bot can have at most 50 subscriptions. Please delete one first']),
    )
    await ada.delete(`/bots/${id}`)
  })

  test('keep a given secret, encrypted', async () => {
    const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
    const subscription = await subscribes('https://receiver.example/', { secret })
    expect(subscription.secret).toBe(secret)
    const row = await environment.deps.db
      .selectFrom('subscriptions')
      .select('sealedSecret')
      .where('id', '=', subscription.id)
      .executeTakeFirstOrThrow()
    expect(row.sealedSecret).not.toContain(secret.slice(6, 20))
  })

  test('do not call addresses of internal networks', async () => {
    const { id } = await subscribes('http://127.0.0.2/')
    await saysInOrder('for nobody')
    await eventually(async () => {
      const [delivery] = (await bot.get(`/subscriptions/${id}/deliveries`)).body.deliveries
      expect(delivery).toMatchObject({
        status: null,
        error: 'This server does not call addresses of internal networks',
      })
    })
  })
})
