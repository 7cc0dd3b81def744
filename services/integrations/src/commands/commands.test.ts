import { createHmac, randomUUID } from 'node:crypto'
import { limits, type Message } from '@parley/contract'
import { type HttpResponse, Person, somebodyWaitsFor } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { beforeAll, describe, expect, test } from 'vitest'
import { startsApp } from '../apps/app.testing.ts'

const environment = testEnvironment({ integrations: { allowedNetworks: ['127.0.0.1'] } })
let botId: string
let secret: string
beforeAll(async () => {
  const { ada } = environment.people
  botId = (await ada.post('/bots', { userName: 'deployer' })).body.bot.id
  secret = (await ada.put(`/bots/${botId}`, { signingSecret: 'rotate' })).body.signingSecret
})

async function adds(url: string, wish: object = {}) {
  const name = `do-${randomUUID().slice(0, 8)}`
  const { status, body } = await environment.people.ada.post('/commands', { botId, name, url, ...wish })
  expect({ status, error: body.error }).toEqual({ status: 200, error: undefined })
  return body.command as { id: string; name: string }
}

const types = async (person: Person, text: string, channelId = environment.channel.secret.id) =>
  person.post(
    channelId.startsWith('dm:') ? `/conversations/${channelId}/commands` : `/channels/${channelId}/commands`,
    { text },
  )
const last = async (channelId: string): Promise<Message> =>
  (await environment.people.ann.get(`/channels/${channelId}/messages?limit=1`)).body.messages[0]

describe('a command of an app', () => {
  test('is sent as Slack’s form, signed, and the response becomes a message of the bot', async () => {
    const { ann, bob } = environment.people
    const { secret: channel } = environment.channel
    const app = await startsApp(() => ({ response_type: 'in_channel', text: 'Deploying <https://ci.example/1|api>' }))
    const { name } = await adds(app.url)
    expect(await types(ann, `/${name} api  now`)).toMatchObject({ status: 200, body: { ephemeral: null } })
    await environment.events.to(bob).toHave('NEW_MESSAGE', { content: 'Deploying [api](https://ci.example/1)' })
    expect((await last(channel.id)).author).toEqual({ id: botId, userName: 'deployer', isBot: true })

    const [{ form, headers, body }] = app.sent as [(typeof app.sent)[0]]
    expect(form).toMatchObject({
      command: `/${name}`,
      text: 'api  now',
      user_id: ann.id,
      user_name: ann.userName,
      channel_id: channel.id,
      channel_name: channel.name,
      team_id: 'parley',
      api_app_id: botId,
    })
    const digest = createHmac('sha256', secret).update(`v0:${headers['x-slack-request-timestamp']}:${body}`)
    expect(headers['x-slack-signature']).toBe(`v0=${digest.digest('hex')}`)
  })

  test('replies only to the caller, on all their streams, and nothing is stored', async () => {
    const { ann, bob } = environment.people
    const app = await startsApp(() => ({ text: 'Nothing to deploy', blocks: [{ type: 'divider' }] }))
    const { name } = await adds(app.url)
    const before = await last(environment.channel.secret.id)
    const { ephemeral } = (await types(ann, `/${name}`)).body
    expect(ephemeral).toMatchObject({ channelId: environment.channel.secret.id, author: { id: botId } })
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
    const { bot } = (await ada.post('/bots', { userName: 'short-lived' })).body
    const app = await startsApp()
    const { name } = await adds(app.url, { botId: bot.id })
    await ada.delete(`/bots/${bot.id}`)
    expect((await types(ann, `/${name}`)).body.ephemeral.content).toContain('There is no command')
    await adds(app.url, { name })
  })
})

describe('response_url', () => {
  const answers = async (url: string, payload: unknown) => {
    const response = await fetch(environment.baseUrl + new URL(url).pathname, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: typeof payload === 'string' ? payload : JSON.stringify(payload),
    })
    return [response.status, await response.text()]
  }

  test('accepts five responses, and does not count unreadable ones', async () => {
    const { ann, bob } = environment.people
    const app = await startsApp()
    const { name } = await adds(app.url)
    await types(ann, `/${name}`)
    const { response_url: url } = app.sent[0]!.form as { response_url: string }
    expect(await answers(url, '{')).toEqual([400, 'invalid_payload'])
    expect(await answers(`${url}x`, { text: 'x' })).toEqual([404, 'no_service'])
    expect(await answers(url, { text: 'to you' })).toEqual([200, 'ok'])
    await environment.events.to(ann).toHave('EPHEMERAL_MESSAGE', { content: 'to you' })
    expect(await answers(url, { response_type: 'in_channel', text: 'to all' })).toEqual([200, 'ok'])
    await environment.events.to(bob).toHave('NEW_MESSAGE', { content: 'to all' })
    const all = await Promise.all(Array.from({ length: 8 }, () => answers(url, { text: 'more' })))
    expect(all.map(([, word]) => word).sort()).toEqual([...Array(3).fill('ok'), ...Array(5).fill('used_url')])
  })

  test('ends when the person who typed the command may no longer read the channel', async () => {
    const { ada, ann, bob } = environment.people
    const [fay, guy] = [
      await Person.signIn(environment.baseUrl, 'fay@example.com'),
      await Person.signIn(environment.baseUrl, 'guy@example.com'),
    ]
    const members = [bob.id, fay.id, guy.id]
    const channel = await ann.creates({ name: `leaving ${randomUUID()}`, isPrivate: true, members })
    const app = await startsApp()
    const { name } = await adds(app.url)
    for (const person of [bob, fay, guy]) await types(person, `/${name}`, channel.id)
    await ann.put(`/channels/${channel.id}`, { removeMembers: [bob.id] })
    await ada.put(`/users/${fay.id}/active`, { isActive: false })
    // The time of this guest is over, and the worker has not deactivated them yet.
    expect((await ada.put(`/users/${guy.id}/role`, { role: 'guest' })).status).toBe(200)
    await environment.deps.db
      .updateTable('users')
      .set({ guestExpiresAt: environment.deps.clock() - 1 })
      .where('id', '=', guy.id)
      .execute()
    for (const { form } of app.sent) {
      const answer = { text: 'too late', response_type: 'in_channel' }
      expect(await answers(form.response_url!, answer)).toEqual([404, 'no_service'])
    }
    expect((await ann.get(`/channels/${channel.id}/messages`)).body.messages).toEqual([])
  })

  test('ends after half an hour', async () => {
    const app = await startsApp()
    const { name } = await adds(app.url)
    await types(environment.people.ann, `/${name}`)
    environment.stopClock()
    environment.pass(30 * 60_000)
    expect(await answers(app.sent[0]!.form.response_url!, { text: 'late' })).toEqual([404, 'expired_url'])
    environment.pass(-30 * 60_000)
  })
})

describe('the server handles', () => {
  const told = async (text: string, channelId?: string) =>
    (await types(environment.people.ann, text, channelId)).body.ephemeral?.content

  test('/help and unknown commands with the list of all commands', async () => {
    const { name } = await adds('https://app.example/', { usageHint: '[service]', description: 'Deploys' })
    expect(await told('/help')).toContain(`- \`/${name} [service]\` Deploys`)
    expect((await types(environment.people.ann, '/nothing at all')).body).toMatchObject({
      ephemeral: { content: expect.stringMatching(/There is no command \/nothing\. .*`\/dm @name <text>`/s) },
      isRefused: true,
    })
    expect(await types(environment.people.ann, 'no slash')).toMatchObject({ status: 400 })
    expect(await types(environment.people.ann, '/ help')).toMatchObject({ status: 400 })
  })

  test('/help with as many commands as fit into a message', async () => {
    const hint = 'x'.repeat(limits.commandHint)
    const rows = Array.from({ length: 60 }, (_, n) => ({
      ...{
        id: randomUUID(),
        botId,
        name: `many-${n}`,
        url: 'https://app.example/',
        description: hint,
        usageHint: hint,
      },
      ...{ createdBy: environment.people.ada.id, createdAt: 0 },
    }))
    await environment.deps.db.insertInto('commands').values(rows).execute()
    const content = (await told('/help')) as string
    expect(content).toMatch(/\n- … and \d+ more$/)
    expect(content.length).toBeLessThan(limits.content)
    const ids = rows.map(({ id }) => id)
    await environment.deps.db.updateTable('commands').set({ deletedAt: 1 }).where('id', 'in', ids).execute()
  })

  test('/me and /shrug with a message of the caller', async () => {
    const { ann } = environment.people
    const { id } = environment.channel.secret
    await types(ann, '/me waves')
    expect(await last(id)).toMatchObject({ content: '_waves_', author: { id: ann.id } })
    await types(ann, '/shrug who knows')
    expect(await last(id)).toMatchObject({ content: 'who knows ¯\\_(ツ)_/¯' })
    expect(await told('/me')).toContain('Please type /me')
  })

  test('/topic, /invite and /leave with the rights of the caller', async () => {
    const { ann, bob, cat } = environment.people
    const { id } = await ann.creates({ name: `commands ${randomUUID()}`, isPrivate: true, members: [bob.id] })
    await types(ann, '/topic Release 7', id)
    expect(await told(`/invite @${cat.userName}`, id)).toContain('is in the channel now')
    expect((await ann.get(`/channels/${id}`)).body.channel).toMatchObject({ topic: 'Release 7', memberCount: 3 })
    expect(await told(`/invite ${cat.userName.toUpperCase()}`, id)).toContain('already')
    expect(await told('/invite @nobody-here', id)).toContain('No user has the name @nobody-here')
    const { body } = await types(bob, '/topic mine', id)
    expect(body.isRefused).toBe(true)
    const refused = body.ephemeral.content
    expect(refused).toBeTruthy()
    expect((await bob.get(`/channels/${id}`)).body.channel.topic).toBe('Release 7')
    await types(cat, '/leave', id)
    expect(await cat.get(`/channels/${id}`)).toMatchObject({ status: 403 })
  })

  test('/invite of several people at the same time, and all of them are in the channel', async () => {
    const { ann, bob, cat, ada } = environment.people
    const channel = await ann.creates({ name: `invited ${randomUUID()}`, isPrivate: true })
    const texts = await Promise.all([ada, bob, cat].map(({ userName }) => told(`/invite @${userName}`, channel.id)))
    for (const text of texts) expect(text).toContain('is in the channel now')
    expect((await ann.get(`/channels/${channel.id}`)).body.channel.memberCount).toBe(4)
  })

  test('/status and /dm', async () => {
    const { ann, bob } = environment.people
    expect(await told('/status away')).toContain('away')
    expect((await bob.get(`/presence?ids=${ann.id}`)).body.presence).toMatchObject([{ status: 'away' }])
    expect(await told('/status asleep')).toContain('/status online')
    await types(ann, `/dm @${bob.userName}   are you there?`)
    await environment.events.to(bob).toHave('NEW_DM_MESSAGE', { content: 'are you there?' })
    const { conversation } = (await ann.post('/conversations', { targetUserId: bob.id })).body
    expect(await told('/topic x', conversation.id)).toContain('for channels')
  })

  test('/status with a text, which becomes the custom status, until it is cleared', async () => {
    const { ann } = environment.people
    const shown = async () => (await ann.get(`/users?ids=${ann.id}`)).body.users[0].customStatus
    expect(await told('/status away :palm_tree: On  holiday')).toBe('You are shown as away: :palm_tree: On  holiday')
    expect(await shown()).toEqual({ text: 'On holiday', emoji: '🌴', expiresAt: null })
    await told('/status online')
    expect(await shown()).toMatchObject({ text: 'On holiday' })
    await told('/status away 🍵')
    expect(await shown()).toEqual({ text: '', emoji: '🍵', expiresAt: null })
    await told('/status away ❤ on a date')
    expect(await shown()).toEqual({ text: 'on a date', emoji: '❤️', expiresAt: null })
    await told('/status away on holiday')
    expect(await shown()).toEqual({ text: 'on holiday', emoji: null, expiresAt: null })
    await told('/status Online :no-such-emoji: 5 minutes')
    expect(await shown()).toEqual({ text: ':no-such-emoji: 5 minutes', emoji: null, expiresAt: null })
    expect(await told(`/status online ${'x'.repeat(101)}`)).toContain('longer than 100 characters')
    expect(await told('/status clear')).toBe('Your status text is removed.')
    expect(await shown()).toBeNull()
  })

  test('/dm to oneself with a sentence', async () => {
    expect(await told(`/dm @${environment.people.ann.userName} hello`)).toBe('You cannot write to yourself.')
  })

  test('/dm and /invite with an impossible name, with a sentence', async () => {
    for (const name of ['\ud800x', `${'a'.repeat(63)}😀`, 'x'.repeat(9_000), '', ' ']) {
      expect(await told(`/dm @${name}`)).toMatch(/No user has the name|Please type/)
      expect(await told(`/invite @${name}`)).toMatch(/No user has the name|Please type/)
    }
  })
})

const wish = { url: 'https://app.example/', events: ['NEW_MESSAGE'] }
const change = { description: 'Changed' }

test.each<[string, (eve: Person, ids: Record<'command' | 'subscription', string>) => Promise<HttpResponse>]>([
  ['POST /commands', (eve) => eve.post('/commands', { botId, name: 'late', url: wish.url })],
  ['PUT /commands/:commandId', (eve, { command }) => eve.put(`/commands/${command}`, change)],
  ['DELETE /commands/:commandId', (eve, { command }) => eve.delete(`/commands/${command}`)],
  ['POST /subscriptions', (eve) => eve.post('/subscriptions', { ...wish, botId })],
  ['PUT /subscriptions/:id', (eve, { subscription }) => eve.put(`/subscriptions/${subscription}`, { isPaused: true })],
  ['DELETE /subscriptions/:id', (eve, { subscription }) => eve.delete(`/subscriptions/${subscription}`)],
  ['POST …/replay', (eve, { subscription }) => eve.post(`/subscriptions/${subscription}/replay`, { since: 1 })],
])('%s is refused to an admin who is demoted while it waits', async (_, ask) => {
  const { ada } = environment.people
  const eve = await Person.signIn(environment.baseUrl, `${randomUUID()}@example.com`)
  await ada.put(`/users/${eve.id}/role`, { role: 'admin' })
  const { id: command } = await adds('https://app.example/run')
  const { subscription } = (await ada.post('/subscriptions', { ...wish, botId })).body
  const { response } = await environment.deps.db.transaction().execute(async (trx) => {
    await trx.selectFrom('users').select('id').where('id', '=', eve.id).forUpdate().execute()
    const response = ask(eve, { command, subscription: subscription.id })
    // Without a wait for the row the response would be there by now.
    await Promise.race([somebodyWaitsFor(trx), response])
    await trx.updateTable('users').set({ isAdmin: false }).where('id', '=', eve.id).execute()
    return { response }
  })
  expect((await response).status).toBe(403)
})

describe('commands', () => {
  test('are added, changed and deleted by admins, and all that is audited', async () => {
    const { ada, ann } = environment.people
    const { id, name } = await adds('https://app.example/run', { description: 'Runs' })
    const listed = async (person: Person) =>
      (await person.get('/commands')).body.commands.find((each: { name: string }) => each.name === name)
    expect(await listed(ann)).toEqual({
      id,
      name,
      botId,
      description: 'Runs',
      usageHint: '',
      createdAt: expect.any(Number),
    })
    expect(await ada.put(`/commands/${id}`, { usageHint: '<what>' })).toMatchObject({
      status: 200,
      body: { command: { description: 'Runs', usageHint: '<what>', url: 'https://app.example/run' } },
    })
    expect(await ada.delete(`/commands/${id}`)).toMatchObject({ status: 200 })
    expect(await listed(ada)).toBe(undefined)
    expect(await ada.put(`/commands/${id}`, { usageHint: '' })).toMatchObject({ status: 404 })
    const { entries } = (await ada.get('/admin/audit-log')).body
    const actions = entries.filter((entry: { targetId: string }) => entry.targetId === id)
    expect(actions.map(({ action }: { action: string }) => action)).toEqual([
      'command.delete',
      'command.update',
      'command.create',
    ])
  })

  test.each([
    [{ name: 'Deploy Now' }],
    [{ name: '/' }],
    [{ name: 'x'.repeat(33) }],
    [{ description: 'turned \u202Earound' }],
    [{ usageHint: 'two\nlines' }],
    [{ name: '/help' }],
    [{ url: 'ftp://a.example' }],
    [{ url: 'https://ann:secret@a.example' }],
    [{ botId: 'nonsense' }],
  ])('refuse %j', async (wish) => {
    const body = { botId, name: `n-${randomUUID().slice(0, 8)}`, url: 'https://app.example/', ...wish }
    expect(await environment.people.ada.post('/commands', body)).toMatchObject({ status: 400 })
  })

  test('have unique names, also when two admins choose the same one at once', async () => {
    const { ada, ann } = environment.people
    const body = { botId, name: 'same', url: 'https://app.example/' }
    const responses = await Promise.all([ada.post('/commands', body), ada.post('/commands', body)])
    expect(responses.map(({ status }) => status).sort()).toEqual([200, 400])
    expect(await ada.post('/commands', { ...body, botId: ann.id, name: 'other' })).toMatchObject({ status: 400 })
  })

  test('make their bot an app, whose secret is shown once and stored encrypted', async () => {
    const { ada, ann } = environment.people
    const { bot } = (await ada.post('/bots', { userName: `app ${randomUUID()}` })).body
    const body = { botId: bot.id, url: 'https://app.example/' }
    const first = (await ada.post('/commands', { ...body, name: 'first-one' })).body
    expect(first.signingSecret).toMatch(/^[0-9a-f]{32}$/)
    expect((await ada.post('/commands', { ...body, name: 'second-one' })).body.signingSecret).toBe(undefined)
    const { status, body: changed } = await ada.put(`/bots/${bot.id}`, {
      interactivityUrl: 'https://app.example/clicks',
      signingSecret: 'rotate',
    })
    expect([status, changed.bot.interactivityUrl]).toEqual([200, 'https://app.example/clicks'])
    expect(changed.signingSecret).not.toBe(first.signingSecret)
    const listed = JSON.stringify((await ada.get('/bots')).body)
    expect(listed).toContain('https://app.example/clicks')
    expect(listed).not.toContain(changed.signingSecret)
    const row = await environment.deps.db.selectFrom('apps').selectAll().where('botId', '=', bot.id).execute()
    expect(JSON.stringify(row)).not.toContain(changed.signingSecret)
    expect((await ada.put(`/bots/${bot.id}`, { interactivityUrl: '' })).body.bot.interactivityUrl).toBe(null)
    expect(await ada.put(`/bots/${bot.id}`, {})).toMatchObject({ status: 400 })
    expect(await ada.put(`/bots/${ann.id}`, { signingSecret: 'rotate' })).toMatchObject({ status: 404 })
    expect(await ann.put(`/bots/${bot.id}`, { signingSecret: 'rotate' })).toMatchObject({ status: 403 })
    const { entries } = (await ada.get('/admin/audit-log?action=bot.update')).body
    expect(entries[0]).toMatchObject({ targetId: bot.id, metadata: { fields: ['interactivityUrl'] } })
  })
})
