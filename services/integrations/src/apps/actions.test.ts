import { randomUUID } from 'node:crypto'
import type { EphemeralMessage } from '@parley/contract'
import { writeAppPass } from '@parley/identity'
import { type EventStream, Person } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createsBot } from '../bot.testing.ts'
import { startsApp } from './app.testing.ts'

const environment = testEnvironment({ integrations: { allowedNetworks: ['127.0.0.1'] } })
let bot: Person
beforeAll(async () => {
  bot = await createsBot(environment, 'approver')
})

const button = (action_id: string, more: object = {}) => ({
  type: 'button',
  action_id,
  text: { type: 'plain_text', text: action_id },
  ...more,
})

/** A message of the bot with two buttons. */
async function asks(channelId = environment.channel.open.id) {
  const elements = [button('approve', { value: '7', style: 'primary' }), button('open', { url: 'https://a.example/' })]
  const message = { content: '', blocks: [{ type: 'actions', block_id: 'choice', elements }] }
  return (await bot.post(`/channels/${channelId}/messages`, message)).body.message
}
async function takesClicks(...given: Parameters<typeof startsApp>) {
  const app = await startsApp(...given)
  const { ada } = environment.people
  expect(await ada.put(`/bots/${bot.id}`, { interactivityUrl: app.url })).toMatchObject({ status: 200 })
  return app
}

describe('a click', () => {
  test('is sent as block_actions with the message and its button', async () => {
    const { ann } = environment.people
    const app = await takesClicks()
    const message = await asks()
    const click = { blockId: 'choice', actionId: 'approve', value: '7' }
    expect(await ann.post(`/messages/${message.id}/actions`, click)).toMatchObject({ body: { ephemeral: null } })
    const payload = JSON.parse(app.sent[0]!.form.payload!)
    expect(payload).toMatchObject({
      type: 'block_actions',
      user: { id: ann.id, username: ann.userName },
      channel: { id: environment.channel.open.id },
      message: { blocks: message.blocks },
      actions: [{ type: 'button', action_id: 'approve', block_id: 'choice', value: '7', style: 'primary' }],
    })
    expect(payload.container.message_ts).toBe(payload.message.ts)
    expect(app.sent[0]!.headers['x-slack-signature']).toMatch(/^v0=/)
  })

  test('may change the message, or delete it', async () => {
    const { ann, bob } = environment.people
    const app = await takesClicks(() => ({ replace_original: true, text: 'Approved' }))
    const message = await asks()
    await ann.post(`/messages/${message.id}/actions`, { actionId: 'approve' })
    await environment.events.to(bob).toHave('UPDATE_MESSAGE', { id: message.id, content: 'Approved', blocks: [] })
    const other = await asks()
    app.control.answer = () => ({ text: 'Only you' })
    const { ephemeral } = (await ann.post(`/messages/${other.id}/actions`, { actionId: 'approve' })).body
    expect(ephemeral).toMatchObject({ content: 'Only you', author: { id: bot.id } })
    const { response_url: url } = JSON.parse(app.sent[1]!.form.payload!)
    const later = { method: 'POST', body: JSON.stringify({ delete_original: true }) }
    expect((await fetch(environment.baseUrl + new URL(url).pathname, later)).status).toBe(200)
    await environment.events.to(bob).toHave('DELETE_MESSAGE', { id: other.id })
  })

  test('has no effect when the person may no longer read the message by the time of the answer', async () => {
    const { ann, bob } = environment.people
    const members = [bob.id, bot.id]
    const channel = await ann.creates({ name: `clicked ${randomUUID()}`, isPrivate: true, members })
    const message = await asks(channel.id)
    await takesClicks(async () => {
      await ann.put(`/channels/${channel.id}`, { removeMembers: [bob.id] })
      return { replace_original: true, text: 'Approved' }
    })
    expect(await bob.post(`/messages/${message.id}/actions`, { actionId: 'approve' })).toMatchObject({ status: 403 })
    expect((await ann.get(`/messages/${message.id}`)).body.message.blocks).toEqual(message.blocks)
  })

  test('is refused for a button that the message does not have, and for people who may not read the message', async () => {
    const { ann, cat } = environment.people
    const app = await takesClicks()
    const message = await asks()
    const clicks = (person: Person, body: object, id = message.id) => person.post(`/messages/${id}/actions`, body)
    for (const body of [
      { actionId: 'other' },
      { actionId: 'open' },
      { actionId: 'approve', blockId: 'elsewhere' },
      { actionId: 'approve', value: '8' },
    ])
      expect(await clicks(ann, body)).toMatchObject({ status: 400 })
    expect(await clicks(ann, { actionId: 'approve' }, 'nothing')).toMatchObject({ status: 404 })
    const own = (
      await ann.post(`/channels/${environment.channel.secret.id}/messages`, {
        content: '',
        blocks: [{ type: 'actions', elements: [button('mine')] }],
      })
    ).body.message
    expect(await clicks(cat, { actionId: 'mine' }, own.id)).toMatchObject({ status: 403 })
    expect(await clicks(ann, { actionId: 'mine' }, own.id)).toMatchObject({ status: 400 })
    expect(app.sent).toEqual([])
  })
})

describe('a click on an ephemeral message', () => {
  let stream: EventStream
  beforeAll(async () => {
    stream = await environment.people.ann.opensStream()
  })
  afterAll(() => stream?.close())
  const told = async (content: string) => (await stream.waitFor('EPHEMERAL_MESSAGE', { content })).payload

  const buttons = [
    { type: 'actions', block_id: 'choice', elements: [button('approve', { value: '7' }), button('refuse')] },
  ]
  const postLater = async (url: string, answer: object) => {
    const { pathname } = new URL(url)
    const response = await fetch(environment.baseUrl + pathname, { method: 'POST', body: JSON.stringify(answer) })
    return [response.status, await response.text()]
  }

  /** The bot sends Ann a question in a channel, as an ephemeral message. */
  async function asksAnn(channelId = environment.channel.open.id, blocks: object[] = buttons) {
    const { ann } = environment.people
    const text = `Approve ${randomUUID()}?`
    const asking = {
      channel: channelId,
      user: ann.id,
      text,
      blocks: [{ type: 'section', text: { type: 'plain_text', text } }, ...blocks],
    }
    const { body } = await bot.post('/slack/api/chat.postEphemeral', asking)
    expect(body).toMatchObject({ ok: true })
    return { asked: await told(text), ts: body.message_ts }
  }
  const clicks = (person: Person, { id, clickToken }: EphemeralMessage, body: object = { actionId: 'approve' }) =>
    person.post(`/messages/${id}/actions`, { clickToken, ...body })

  test('is sent as block_actions without the message, and the response may replace or remove it', async () => {
    const { ann, bob } = environment.people
    const app = await takesClicks(() => ({ replace_original: true, text: 'Sure?', blocks: buttons }))
    const { asked, ts } = await asksAnn()
    expect(asked).toMatchObject({ updatedAt: null, author: { id: bot.id, isBot: true } })
    const first = await clicks(ann, asked, { blockId: 'choice', actionId: 'approve', value: '7' })
    const payload = JSON.parse(app.sent[0]!.form.payload!)
    expect(payload).toMatchObject({
      type: 'block_actions',
      user: { id: ann.id },
      channel: { id: environment.channel.open.id },
      container: { is_ephemeral: true, message_ts: ts, channel_id: environment.channel.open.id },
      actions: [{ action_id: 'approve', block_id: 'choice', value: '7' }],
    })
    expect(payload).not.toHaveProperty('message')

    const replaced: EphemeralMessage = first.body.ephemeral
    expect(replaced).toMatchObject({
      id: asked.id,
      createdAt: asked.createdAt,
      content: 'Sure?',
      updatedAt: expect.any(Number),
    })
    await environment.events.to(ann).toHave('EPHEMERAL_MESSAGE', replaced)
    app.control.answer = () => ({ delete_original: true })
    const second = await clicks(ann, replaced, { actionId: 'refuse' })
    expect(second.body.ephemeral).toMatchObject({ id: asked.id, content: '', blocks: [], clickToken: null })
    await environment.events.to(ann).toHave('EPHEMERAL_MESSAGE', second.body.ephemeral)
    await environment.events.to(bob).neverHave('EPHEMERAL_MESSAGE', { id: asked.id })
    expect((await ann.get(`/messages/${asked.id}`)).status).toBe(404)
  })

  test('is answered later at its response_url: replaced, removed, or followed by another', async () => {
    const { ann, bob } = environment.people
    const app = await takesClicks()
    const { asked } = await asksAnn()
    expect((await clicks(ann, asked)).body).toEqual({ ephemeral: null })
    const { response_url: url } = JSON.parse(app.sent[0]!.form.payload!)
    expect(await postLater(url, { replace_original: true, text: 'Working' })).toEqual([200, 'ok'])
    await environment.events.to(ann).toHave('EPHEMERAL_MESSAGE', { id: asked.id, content: 'Working', clickToken: null })
    expect(await postLater(url, { text: 'By the way' })).toEqual([200, 'ok'])
    const other = await told('By the way')
    expect(other.id).not.toBe(asked.id)
    expect(await postLater(url, { response_type: 'in_channel', text: 'Ann approved' })).toEqual([200, 'ok'])
    await environment.events.to(bob).toHave('NEW_MESSAGE', { content: 'Ann approved' })
    expect(await postLater(url, { delete_original: true })).toEqual([200, 'ok'])
    await environment.events.to(ann).toHave('EPHEMERAL_MESSAGE', { id: asked.id, content: '', blocks: [] })
    await environment.events.to(bob).neverHave('EPHEMERAL_MESSAGE')
    // A changed mark in the address makes the secret wrong.
    expect(await postLater(url.replace(/\/\d{13}\./, '/'), { delete_original: true })).toEqual([404, 'no_service'])
  })

  test('is refused with the token of another message or person, a changed or old one, and after the channel was left', async () => {
    const { ann, bob } = environment.people
    const app = await takesClicks()
    const { asked } = await asksAnn()
    const { asked: other } = await asksAnn()
    const channel = await ann.creates({
      name: `whispers ${randomUUID()}`,
      isPrivate: true,
      members: [ann.id, bob.id, bot.id],
    })
    const { asked: inside } = await asksAnn(channel.id)
    for (const [person, message, body] of [
      [bob, asked, {}],
      [ann, { ...asked, id: other.id }, {}],
      [ann, asked, { clickToken: `${asked.clickToken!.slice(0, -8)}AAAAAAA=` }],
      [ann, asked, { clickToken: '' }],
      [ann, asked, { actionId: 'other' }],
      [ann, asked, { value: '8' }],
      [ann, asked, { blockId: 'elsewhere' }],
    ] as const) {
      expect(await clicks(person, message, { actionId: 'approve', ...body })).toMatchObject({ status: 400 })
    }
    expect(await clicks(ann, { ...asked, clickToken: undefined as never })).toMatchObject({ status: 404 })
    const [reading, writing] = await Promise.all(
      ['read', 'write'].map(async (scope) => {
        const { body } = await ann.post('/auth/tokens', { name: scope, scopes: [scope] })
        return new Person(environment.baseUrl, ann, body.token)
      }),
    )
    expect(await clicks(reading!, asked)).toMatchObject({ status: 403 })
    expect(await ann.post(`/channels/${channel.id}/leave`)).toMatchObject({ status: 200 })
    expect((await clicks(ann, inside)).status).toBe(403)
    environment.stopClock()
    environment.pass(24 * 3_600_000)
    const late = await clicks(writing!, asked)
    environment.pass(-24 * 3_600_000)
    expect(late).toMatchObject({ status: 400, body: { error: expect.stringContaining('too old') } })
    expect(app.sent).toEqual([])
  })

  test('works with the largest message, and there is no token without a button', async () => {
    const { ann } = environment.people
    const app = await takesClicks()
    const elements = Array.from({ length: 25 }, (_, n) => button(`n${n}`, { value: '😀'.repeat(500) }))
    const { asked } = await asksAnn(environment.channel.open.id, [{ type: 'actions', elements }])
    expect(asked.clickToken!.length).toBeGreaterThan(60_000)
    expect(await clicks(ann, asked, { actionId: 'n24' })).toMatchObject({ status: 200 })
    expect(app.sent).toHaveLength(1)
    const link = [{ type: 'actions', elements: [button('open', { url: 'https://a.example/' })] }]
    expect((await asksAnn(environment.channel.open.id, link)).asked.clickToken).toBeNull()
  })
})

describe('a pass', () => {
  const post = (token: string, botId = bot.id) =>
    new Person(environment.baseUrl, bot, token).post(`/apps/${botId}/messages`, { content: 'x' })
  const pass = (change: object = {}) =>
    writeAppPass(environment.deps.seals, {
      botId: bot.id,
      channelId: environment.channel.open.id,
      expiresAt: Date.now() + 60_000,
      ...change,
    })

  test('allows only its bot to post in its channel until it expires', async () => {
    const { ann, ada } = environment.people
    expect(await post(pass())).toMatchObject({ status: 200, body: { message: { author: { id: bot.id } } } })
    expect(await post(pass({ expiresAt: Date.now() }))).toMatchObject({ status: 401 })
    expect(await post(pass(), ann.id)).toMatchObject({ status: 401 })
    expect(await post(pass({ botId: ann.id }), ann.id)).toMatchObject({ status: 404 })
    for (const token of [ada.token, bot.token, environment.deps.seals.seal('{}'), 'nonsense'])
      expect(await post(token ?? '')).toMatchObject({ status: 401 })
  })
})
