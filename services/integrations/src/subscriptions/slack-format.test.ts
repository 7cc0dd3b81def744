import { createHmac, randomUUID } from 'node:crypto'
import type { Person } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { type Sent, startsApp } from '../apps/app.testing.ts'
import { createsBot } from '../bot.testing.ts'

const environment = testEnvironment({ integrations: { allowedNetworks: ['127.0.0.1'] } })
let bot: Person
let secret: string
beforeAll(async () => {
  bot = await createsBot(environment, 'listener')
  secret = (await environment.people.ada.put(`/bots/${bot.id}`, { signingSecret: 'rotate' })).body.signingSecret
})

const json = ({ body }: Sent) => JSON.parse(body)
const answersChallenge = (sent: Sent) => (json(sent).challenge ? { challenge: json(sent).challenge } : '')
const isSigned = ({ headers, body }: Sent, by = secret) => {
  const digest = createHmac('sha256', by).update(`v0:${headers['x-slack-request-timestamp']}:${body}`).digest('hex')
  return headers['x-slack-signature'] === `v0=${digest}`
}
const subscribes = (url: string, events: string[], more: object = {}) =>
  bot.post('/subscriptions', { url, format: 'slack', events, ...more })

describe('a subscription in Slack’s format', () => {
  test('gets app_mention when a group of the bot is mentioned, and not for other groups', async () => {
    const { ada, ann, bob } = environment.people
    const app = await startsApp(answersChallenge)
    const { body } = await subscribes(app.url, ['app_mention'])
    const group = async (handle: string, members: string[]) => {
      const { status, body } = await ada.post('/groups', { handle, name: handle, members })
      expect([status, body.error]).toEqual([200, undefined])
    }
    await group('robots', [bot.id, bob.id])
    await group('people', [bob.id])
    for (const content of ['@people no', '@robots yes', `@${bot.userName} @robots once`])
      await ann.says(content, environment.channel.open)
    const told = () => app.sent.slice(1).map((sent) => json(sent).event.text)
    await vi.waitFor(() => expect(told()).toHaveLength(2), { timeout: 30_000, interval: 50 })
    expect(told()).toEqual([
      expect.stringMatching(new RegExp(`<@${bot.id}>.*yes`)),
      expect.stringMatching(new RegExp(`<@${bot.id}>.*once`)),
    ])
    await bot.delete(`/subscriptions/${body.subscription.id}`)
  })

  test('gets signed event_callback requests for the events that its bot may read, each with its own id', async () => {
    const { ann, bob } = environment.people
    const app = await startsApp(answersChallenge)
    const types = ['message', 'app_mention', 'reaction_added', 'reaction_removed', 'member_joined_channel']
    const more = ['member_left_channel', 'channel_created', 'pin_added', 'user_change']
    const { status, body } = await subscribes(app.url, [...types, ...more])
    expect([status, body.subscription?.format, body.subscription?.secret]).toEqual([200, 'slack', undefined])
    expect(json(app.sent[0]!)).toMatchObject({ type: 'url_verification' })

    const channel = await ann.creates({ name: `told ${randomUUID()}` })
    await bob.post(`/channels/${channel.id}/join`)
    const message = await ann.says(`@${bot.userName} look`, channel)
    await bob.post(`/messages/${message.id}/thread`, { content: 'a reply' })
    await bob.post(`/messages/${message.id}/reactions`, { reaction: '\u{1f44d}\ufe0f' })
    await bob.delete(`/messages/${message.id}/reactions`, { reaction: '\u{1f44d}\ufe0f' })
    await bob.post(`/messages/${message.id}/pin`)
    await bob.delete(`/messages/${message.id}/pin`)
    await ann.put(`/messages/${message.id}`, { content: 'edited' })
    await ann.says('hidden', environment.channel.secret)
    await bob.post(`/channels/${channel.id}/leave`)
    await ann.delete(`/messages/${message.id}`)
    await ann.put('/users/me', { title: 'Engineer' })

    const told = () => app.sent.slice(1).map((sent) => json(sent).event)
    await vi.waitFor(() => expect(told().at(-1)?.type).toBe('user_change'), { timeout: 30_000, interval: 50 })
    const [mention] = told().filter(({ type }) => type === 'app_mention')
    const { ts } = mention
    expect(ts).toMatch(/^\d{10}\.\d{6}$/)
    const item = { type: 'message', channel: channel.id, ts }
    expect(told()).toMatchObject([
      { type: 'channel_created', channel: { id: channel.id, name: channel.name } },
      { type: 'member_joined_channel', user: bob.id, channel: channel.id },
      { type: 'message', channel: channel.id, channel_type: 'channel', user: ann.id, ts, event_ts: ts },
      { type: 'app_mention', channel: channel.id, user: ann.id, text: expect.stringContaining(`<@${bot.id}>`) },
      { type: 'message', user: bob.id, text: 'a reply', thread_ts: ts },
      { type: 'reaction_added', user: bob.id, reaction: '+1', item, item_user: ann.id },
      { type: 'reaction_removed', user: bob.id, reaction: '+1', item, item_user: ann.id },
      { type: 'pin_added', user: bob.id, channel_id: channel.id, item: { message: { ts } } },
      { type: 'message', subtype: 'message_changed', message: { ts, text: 'edited' } },
      { type: 'member_left_channel', user: bob.id, channel: channel.id },
      { type: 'message', subtype: 'message_deleted', deleted_ts: ts },
      { type: 'user_change', user: { id: ann.id, profile: { email: 'ann@example.com' } } },
    ])
    const bodies = app.sent.slice(1).map(json)
    expect(new Set(bodies.map(({ event_id }) => event_id)).size).toBe(bodies.length)
    expect(bodies[0]).toMatchObject({
      type: 'event_callback',
      team_id: 'parley',
      api_app_id: bot.id,
      event_time: expect.any(Number),
      authorizations: [{ user_id: bot.id, is_bot: true }],
    })
    for (const sent of app.sent) expect(isSigned(sent)).toBe(true)
  })

  test('repeats with the same event_id, and signs with a new secret once there is one', async () => {
    const { ada, ann } = environment.people
    let failures = 0
    const app = await startsApp((sent) => (json(sent).challenge ? answersChallenge(sent) : failures++ < 1 ? 500 : ''))
    const { subscription } = (await subscribes(app.url, ['message'])).body
    await ann.says('repeated', environment.channel.open)
    await vi.waitFor(() => expect(app.sent).toHaveLength(3), { timeout: 30_000, interval: 50 })
    expect(json(app.sent[2]!).event_id).toBe(json(app.sent[1]!).event_id)
    expect(app.sent[2]!.headers['x-slack-retry-num']).toBe('1')
    const { deliveries } = (await bot.get(`/subscriptions/${subscription.id}/deliveries`)).body
    expect(deliveries.at(-1)).toMatchObject({ type: 'message', status: 500 })

    const { signingSecret } = (await ada.put(`/bots/${bot.id}`, { signingSecret: 'rotate' })).body
    await vi.waitFor(
      async () => {
        await ann.says('signed anew', environment.channel.open)
        expect(isSigned(app.sent.at(-1)!, signingSecret)).toBe(true)
      },
      { timeout: 30_000, interval: 300 },
    )
    secret = signingSecret
  })

  test('message_deleted says whose message it was, and in which thread, without its content', async () => {
    const { ann } = environment.people
    const app = await startsApp(answersChallenge)
    await subscribes(app.url, ['message'])
    const parent = await bot.says('parent', environment.channel.open)
    const { reply } = (await ann.post(`/messages/${parent.id}/thread`, { content: 'reply' })).body
    await ann.delete(`/messages/${reply.id}`)
    await bot.delete(`/messages/${parent.id}`)
    const deleted = () =>
      app.sent
        .slice(1)
        .map(json)
        .filter(({ event }) => event.subtype === 'message_deleted')
    await vi.waitFor(() => expect(deleted()).toHaveLength(2), { timeout: 30_000, interval: 50 })
    const [ofReply, ofParent] = deleted().map(({ event }) => event)
    const { deleted_ts: ts } = ofParent
    expect(ofReply.previous_message).toEqual({ type: 'message', user: ann.id, ts: ofReply.deleted_ts, thread_ts: ts })
    expect(ofParent.previous_message).toEqual({ type: 'message', user: bot.id, bot_id: bot.id, ts })
  })

  test('repeats no event that the receiver refuses with X-Slack-No-Retry', async () => {
    const { ann } = environment.people
    const waiting = { timeout: 30_000, interval: 50 }
    const refusal = () => new Response(null, { status: 500, headers: { 'x-slack-no-retry': '1' } })
    const app = await startsApp((sent) => (json(sent).event?.text === 'refused' ? refusal() : answersChallenge(sent)))
    const { subscription } = (await subscribes(app.url, ['message'])).body
    for (const content of ['refused', 'accepted']) await ann.says(content, environment.channel.open)
    await vi.waitFor(() => expect(app.sent).toHaveLength(3), waiting)
    expect(app.sent.slice(1).map((sent) => json(sent).event.text)).toEqual(['refused', 'accepted'])
    const path = `/subscriptions/${subscription.id}`
    await vi.waitFor(async () => {
      const { deliveries } = (await bot.get(`${path}/deliveries`)).body
      expect(deliveries.map(({ status, error }: { status: number; error: string }) => [status, error])).toEqual([
        [200, null],
        [500, 'The receiver answered 500'],
      ])
    }, waiting)
    // A status of 410 is about the subscription, not about one event.
    app.control.answer = () => new Response(null, { status: 410, headers: { 'x-slack-no-retry': '1' } })
    await ann.says('gone', environment.channel.open)
    await vi.waitFor(async () => expect((await bot.get(path)).body.subscription.isPaused).toBe(true), waiting)
  })

  test('is refused for other events, for a chosen secret, and for an address that does not answer the challenge', async () => {
    const { ada } = environment.people
    const app = await startsApp(() => ({ challenge: 'another' }))
    const wishes: [string[], object][] = [
      [['message'], {}],
      [['NEW_MESSAGE'], {}],
      [['message'], { format: 'parley' }],
      [['message'], { secret: `whsec_${Buffer.alloc(32).toString('base64')}` }],
      [['message'], { url: 'http://127.0.0.2/' }],
    ]
    for (const [events, more] of wishes) expect(await subscribes(app.url, events, more)).toMatchObject({ status: 400 })
    app.control.answer = () => 500
    expect(await subscribes(app.url, ['message'])).toMatchObject({ status: 400 })
    const { bot: other } = (await ada.post('/bots', { userName: `no app ${randomUUID()}` })).body
    app.control.answer = answersChallenge
    const unsigned = { botId: other.id, url: app.url, format: 'slack', events: ['message'] }
    expect(await ada.post('/subscriptions', unsigned)).toMatchObject({ status: 400 })
  })
})
