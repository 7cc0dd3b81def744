import { randomUUID } from 'node:crypto'
import { Person } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { describe, expect, test } from 'vitest'

const environment = testEnvironment()

/** Adds a bot with a token, which must be accepted. Returns it as a person of the tests. */
async function newBot(scopes = ['write']): Promise<Person> {
  const { ada } = environment.people
  const { body } = await ada.post('/bots', { userName: `bot-${randomUUID()}` })
  const token = await ada.post(`/bots/${body.bot.id}/tokens`, { name: 'a program', scopes })
  expect(token.status).toBe(200)
  return new Person(environment.baseUrl, body.bot, token.body.token)
}

describe('POST /bots', () => {
  test('adds a user that nobody can sign in as, and sends an event to everyone', async () => {
    const { ada, bob } = environment.people
    const { status, body } = await ada.post('/bots', { userName: 'build-bot', displayName: ' The  builder ' })
    expect({ status, body }).toMatchObject({
      status: 200,
      body: { bot: { userName: 'build-bot', displayName: 'The builder', isBot: true, isAdmin: false, isActive: true } },
    })
    const { bot } = body
    await environment.events.to(bob).toHave('NEW_USER', { id: bot.id, isBot: true })
    expect((await ada.get('/bots')).body.bots).toContainEqual(bot)
    expect((await bob.get('/users?q=build-bot')).body.users).toMatchObject([{ id: bot.id, isBot: true }])

    const signIn = await environment.people.nobody.post('/auth/dev-login', { email: bot.email })
    expect(signIn).toMatchObject({ status: 403 })
    expect(await ada.post(`/users/${bot.id}/reset-password`, { password: 'longer than 8' })).toMatchObject({
      status: 400,
    })
    expect(await ada.put(`/users/${bot.id}/role`, { role: 'admin' })).toMatchObject({ status: 400 })
    const { entries } = (await ada.get('/admin/audit-log?action=bot.create')).body
    expect(entries).toContainEqual(expect.objectContaining({ targetId: bot.id, actorId: ada.id }))
  })

  test.each([
    ['the name of a person', { userName: 'Ann' }],
    ['a name that looks like one', { userName: 'аnn' }],
    ['a reserved name', { userName: 'here' }],
    ['no name', {}],
    ['a display name with hidden characters', { userName: 'fine', displayName: 'a\u202eb' }],
  ])('refuses %s', async (_, body) => {
    expect(await environment.people.ada.post('/bots', body)).toMatchObject({ status: 400 })
  })

  test('is for admins who have signed in', async () => {
    const { ada, ann } = environment.people
    expect(await ann.post('/bots', { userName: 'mine' })).toMatchObject({ status: 403 })
    const { body } = await ada.post('/auth/tokens', { name: 'x', scopes: ['admin'] })
    const program = new Person(environment.baseUrl, ada, body.token)
    const bot = await newBot()
    expect(await program.post('/bots', { userName: 'mine' })).toMatchObject({ body: { code: 'insufficient_scope' } })
    expect(await program.post(`/bots/${bot.id}/tokens`, { name: 'x', scopes: ['read'] })).toMatchObject({
      body: { code: 'insufficient_scope' },
    })
    expect(await program.get(`/bots/${bot.id}/tokens`)).toMatchObject({ status: 200 })
  })
})

test('a bot does not join channels by itself, posts as a bot, and is online while it has a stream', async () => {
  const { ann } = environment.people
  const { general, secret } = environment.channel
  const bot = await newBot()
  expect((await bot.get('/channels?scope=joined')).body.channels).toEqual([])
  expect(await bot.get(`/channels/${secret.id}/messages`)).toMatchObject({ status: 403 })
  await ann.put(`/channels/${secret.id}`, { members: [...secret.members, bot.id] })

  const stream = await bot.opensStream()
  await environment.events.to(ann).toHave('PRESENCE_UPDATE', { userId: bot.id, status: 'online' })
  const author = { id: bot.id, userName: bot.userName, isBot: true }
  const message = await bot.says('built', secret)
  const reply = (await bot.post(`/messages/${message.id}/thread`, { content: 'and tested' })).body.reply
  expect([message.author, reply.author]).toEqual([author, author])
  await environment.events.to(ann).toHave('NEW_MESSAGE', { id: message.id, author })
  await stream.waitFor('NEW_MESSAGE', { id: message.id })
  expect((await ann.get(`/messages/${message.id}`)).body.message.author).toEqual(author)
  expect((await ann.says('people are no bots', general)).author).toEqual({ id: ann.id, userName: 'ann' })
  await stream.close()
})

describe('the tokens of a bot', () => {
  test('are listed and deleted by admins, and never have the scope admin', async () => {
    const { ada, ann } = environment.people
    const bot = await newBot()
    const [token] = (await ada.get(`/bots/${bot.id}/tokens`)).body.tokens
    expect(token).toMatchObject({ name: 'a program', scopes: ['write'], expiresAt: null })
    const tokens = `/bots/${bot.id}/tokens`
    expect(await ada.post(tokens, { name: 'x', scopes: ['admin'] })).toMatchObject({ status: 403 })
    expect(await ann.get(tokens)).toMatchObject({ status: 403 })
    expect(await ada.get(`/bots/${ann.id}/tokens`)).toMatchObject({ status: 404 })
    expect(await ada.post(`/bots/${ann.id}/tokens`, { name: 'x', scopes: ['read'] })).toMatchObject({ status: 404 })

    const stream = await bot.opensStream()
    expect(await ada.delete(`${tokens}/${token.id}`)).toMatchObject({ status: 200 })
    expect(await bot.get('/auth/me')).toMatchObject({ status: 401 })
    await stream.ended
    expect(await ada.delete(`${tokens}/${token.id}`)).toMatchObject({ status: 404 })
  })

  test('end with the bot, whose messages stay', async () => {
    const { ada, ann } = environment.people
    const bot = await newBot()
    const message = await bot.says('the last word', environment.channel.general)
    const stream = await bot.opensStream()
    expect(await ada.delete(`/bots/${ann.id}`)).toMatchObject({ status: 404 })
    expect(await ada.delete(`/bots/${bot.id}`)).toMatchObject({ status: 200 })
    await stream.ended
    expect(await bot.get('/auth/me')).toMatchObject({ status: 401 })
    expect((await ann.get(`/messages/${message.id}`)).body.message.author).toMatchObject({ id: bot.id, isBot: true })
    await environment.events.to(ann).toHave('REMOVE_USER', { id: bot.id })
    const { entries } = (await ada.get('/admin/audit-log?action=bot.delete')).body
    expect(entries).toMatchObject([{ targetId: bot.id }])
  })

  test('are refused while the bot is deactivated, and it gets no new ones', async () => {
    const { ada } = environment.people
    const bot = await newBot()
    const stream = await bot.opensStream()
    await ada.put(`/users/${bot.id}/active`, { isActive: false })
    await stream.ended
    expect(await bot.get('/auth/me')).toMatchObject({ status: 401 })
    expect(await ada.post(`/bots/${bot.id}/tokens`, { name: 'x', scopes: ['read'] })).toMatchObject({ status: 400 })
  })
})
