import { createHmac, randomUUID } from 'node:crypto'
import { type HttpResponse, Person } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { describe, expect, test } from 'vitest'
import { startsApp } from '../apps/app.testing.ts'
import { testCommands } from './commands.testing.ts'

const environment = testEnvironment({ integrations: { allowedNetworks: ['127.0.0.1'] } })
const { bot, adds, types, last } = testCommands(environment)

describe('a command of an app', () => {
  test('is sent as Slack’s form, signed, and the response becomes a message of the bot', async () => {
    const { ann, bob } = environment.people
    const { secret: channel } = environment.channel
    const app = await startsApp(() => ({ response_type: 'in_channel', text: 'Deploying <https://ci.example/1|api>' }))
    const { name } = await adds(app.url)
    expect(await types(ann, `/${name} api  now`)).toMatchObject({ status: 200, body: { ephemeral: null } })
    await environment.events.to(bob).toHave('NEW_MESSAGE', { content: 'Deploying [api](https://ci.example/1)' })
    expect((await last(channel.id)).author).toEqual({ id: bot.id, userName: 'deployer', isBot: true })

    const [{ form, headers, body }] = app.sent as [(typeof app.sent)[0]]
    expect(form).toMatchObject({
      command: `/${name}`,
      text: 'api  now',
      user_id: ann.id,
      user_name: ann.userName,
      channel_id: channel.id,
      channel_name: channel.name,
      team_id: 'parley',
      api_app_id: bot.id,
    })
    const digest = createHmac('sha256', bot.signingSecret).update(`v0:${headers['x-slack-request-timestamp']}:${body}`)
    expect(headers['x-slack-signature']).toBe(`v0=${digest.digest('hex')}`)
  })

  test('replies only to the caller, on all their streams, and nothing is stored', async () => {
    const { ann, bob } = environment.people
    const app = await startsApp(() => ({ text: 'Nothing to deploy', blocks: [{ type: 'divider' }] }))
    const { name } = await adds(app.url)
    const before = await last(environment.channel.secret.id)
    const { ephemeral } = (await types(ann, `/${name}`)).body
    expect(ephemeral).toMatchObject({ channelId: environment.channel.secret.id, author: { id: bot.id } })
    await environment.events.to(ann).toHave('EPHEMERAL_MESSAGE', ephemeral)
    await environment.events.to(bob).neverHave('EPHEMERAL_MESSAGE')
    expect(await last(environment.channel.secret.id)).toEqual(before)

    app.control.answer = () => 'plain words'
    expect((await types(ann, `/${name}`)).body.ephemeral).toMatchObject({ content: 'plain words', blocks: [] })
    app.control.answer = () => '\ufeff{"text": "after a byte order mark"}'
    expect((await types(ann, `/${name}`)).body.ephemeral).toMatchObject({ content: 'after a byte order mark' })
    app.control.answer = () => ''
    expect((await types(ann, `/${name}`)).body).toEqual({ ephemeral: null })
  })

  test('works in a conversation, where only the two participants see the response', async () => {
    const { ann, bob, cat } = environment.people
    const { conversation } = (await ann.post('/conversations', { targetUserId: bob.id })).body
    const app = await startsApp(() => ({ response_type: 'in_channel', text: 'between you' }))
    const { name } = await adds(app.url)
    expect(await types(ann, `/${name}`, conversation.id)).toMatchObject({ status: 200 })
    await environment.events.to(bob).toHave('NEW_DM_MESSAGE', { content: 'between you', channelId: conversation.id })
    expect(app.sent[0]!.form.channel_name).toBe('directmessage')
    expect(await types(cat, `/${name}`, conversation.id)).toMatchObject({ status: 403 })
    expect(await types(cat, `/${name}`)).toMatchObject({ status: 403 })
    expect(app.sent).toHaveLength(1)

    // Nobody else could delete it, because the bot is not in the conversation.
    const messages = `/conversations/${conversation.id}/messages`
    const own = (await ann.post(messages, { content: 'my own' })).body.message
    const [answer] = (await ann.get(messages)).body.messages
    expect(await cat.delete(`${messages}/${answer.id}`)).toMatchObject({ status: 403 })
    expect(await bob.delete(`${messages}/${own.id}`)).toMatchObject({ status: 403 })
    expect(await bob.delete(`${messages}/${answer.id}`)).toMatchObject({ status: 200 })
    expect((await ann.get(messages)).body.messages).toMatchObject([{ id: own.id }])
  })

  test.each([
    ['refuses', 500, 'the status 500'],
    ['sends elsewhere', 302, 'the status 302'],
    ['answers no JSON', '{', 'not valid JSON'],
    ['answers what cannot be shown', { blocks: 'x' }, 'cannot be shown'],
    ['never answers', undefined, 'within 3 seconds'],
  ])('that %s is reported to the caller', async (_, answer, words) => {
    const app = await startsApp(() => answer)
    const { name } = await adds(app.url)
    const { status, body } = await types(environment.people.ann, `/${name}`)
    expect([status, body.ephemeral.author.id]).toEqual([200, 'server'])
    expect(body.ephemeral.content).toContain(words)
  })

  test.each<[string, number, (ids: { channelId: string; userId: string }) => Promise<HttpResponse>]>([
    [
      'may no longer read the channel',
      403,
      ({ channelId, userId }) => environment.people.ann.put(`/channels/${channelId}`, { removeMembers: [userId] }),
    ],
    [
      'was deactivated',
      401,
      ({ userId }) => environment.people.ada.put(`/users/${userId}/active`, { isActive: false }),
    ],
  ])('has no effect when the person %s by the time of the answer', async (_, status, loses) => {
    const { ann } = environment.people
    const eve = await Person.signIn(environment.baseUrl, `${randomUUID()}@example.com`)
    const channel = await ann.creates({ name: `asked ${randomUUID()}`, isPrivate: true, members: [eve.id] })
    const app = await startsApp(async () => {
      expect(await loses({ channelId: channel.id, userId: eve.id })).toMatchObject({ status: 200 })
      return { response_type: 'in_channel', text: 'too late' }
    })
    const { name } = await adds(app.url)
    expect(await types(eve, `/${name}`, channel.id)).toMatchObject({ status })
    expect((await ann.get(`/channels/${channel.id}/messages`)).body.messages).toEqual([])
  })

  test('is not sent to an internal network, nor for an app whose secret cannot be read', async () => {
    const { ann, ada } = environment.people
    const { name } = await adds('http://127.0.0.2/')
    expect((await types(ann, `/${name}`)).body.ephemeral.content).toContain('internal networks')
    const other = (await ada.post('/bots', { userName: 'other app' })).body.bot
    const app = await startsApp()
    const { name: unsigned } = await adds(app.url, { botId: other.id })
    await environment.deps.db
      .updateTable('apps')
      .set({ sealedSigningSecret: 'of another key' })
      .where('botId', '=', other.id)
      .execute()
    expect((await types(ann, `/${unsigned}`)).body.ephemeral.content).toContain('signing secret')
    expect(app.sent).toEqual([])
  })

  test('ends with its bot, and its name is free again', async () => {
    const { ada, ann } = environment.people
    const { bot: removed } = (await ada.post('/bots', { userName: 'short-lived' })).body
    const app = await startsApp()
    const { name } = await adds(app.url, { botId: removed.id })
    await ada.delete(`/bots/${removed.id}`)
    expect((await types(ann, `/${name}`)).body.ephemeral.content).toContain('There is no command')
    await adds(app.url, { name })
  })
})
