import { Person, samples } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { beforeAll, describe, expect, test } from 'vitest'

/** The ways in which a guest could reach other channels and people, apart from a plain request for them. */
const environment = testEnvironment()

let gus: Person
let slackToken: string
/** A public channel of Gus and Bob. */
let shared: { id: string }
/** A message in `open`, of which Gus is not a member. */
let beyond: { id: string; ts: string; reply: string; file: string; image: string; avatar: string }

beforeAll(async () => {
  const { ada, ann, bob, cat } = environment.people
  const { open } = environment.channel
  await ada.post('/users/add', { email: 'gus@example.com', role: 'guest' })
  gus = await Person.signIn(environment.baseUrl, 'gus@example.com')
  slackToken = (await gus.post('/auth/tokens', { name: 'x', scopes: ['write'] })).body.token
  shared = await bob.creates({ name: 'shared', members: [gus.id] })
  const attachment = await ann.uploads('confidential.txt', 'confidential bytes')
  const image = await ann.uploadsImage(`/channels/${open.id}/messages`, 'confidential.png', samples.png)
  const { id } = await ann.sends(open, { content: 'confidential words', attachments: [attachment], images: [image] })
  const { reply } = (await ann.post(`/messages/${id}/thread`, { content: 'confidential reply' })).body
  await ann.post(`/messages/${id}/pin`)
  const { avatarVersion } = (await cat.put('/users/me/avatar', { image: samples.png.toString('base64') })).body
  const asked = { authorization: `Bearer ${ann.token}` }
  const history = await fetch(`${environment.baseUrl}/slack/api/conversations.history?channel=${open.id}`, {
    headers: asked,
  })
  const { messages } = (await history.json()) as { messages: { ts: string; text: string }[] }
  const { ts } = messages.find(({ text }) => text.startsWith('confidential'))!
  beyond = {
    id,
    ts,
    reply: reply.id,
    file: `/files/${attachment.filename}`,
    image,
    avatar: `/users/${cat.id}/avatar/${avatarVersion}`,
  }
})

/** Replies must not have any content of other channels. */
const tells = (body: unknown) => /confidential|cat@example/.test(JSON.stringify(body))

describe('by the addresses of things in another channel', () => {
  test('a guest reads and changes nothing', async () => {
    const { open, secret } = environment.channel
    const message = `/messages/${beyond.id}`
    for (const channel of [open.id, secret.id]) {
      for (const response of [
        await gus.get(`/channels/${channel}`),
        await gus.get(`/channels/${channel}/messages?aroundSeq=1`),
        await gus.get(`/channels/${channel}/pins`),
        await gus.put(`/channels/${channel}/read`, { seq: 1 }),
        await gus.put(`/channels/${channel}/typing`),
        await gus.post(`/channels/${channel}/leave`),
        await gus.post(`/channels/${channel}/commands`, { text: '/topic confidential' }),
        await gus.put(`/channels/${channel}`, { addMembers: [gus.id] }),
        await gus.delete(`/channels/${channel}`),
      ]) {
        expect([403, 404], JSON.stringify(response)).toContain(response.status)
        expect(tells(response.body)).toBe(false)
      }
    }
    for (const response of [
      await gus.get(message),
      await gus.get(`${message}/thread`),
      await gus.get(`/messages/${beyond.reply}`),
      await gus.post(`${message}/thread`, { content: 'x' }),
      await gus.post(`${message}/reactions`, { reaction: '👍' }),
      await gus.post(`${message}/pin`),
      await gus.delete(`${message}/pin`),
      await gus.delete(`${message}/previews`),
      await gus.put(message, { content: 'x' }),
      await gus.delete(message),
      await gus.post(`${message}/actions`, { actionId: 'x' }),
    ]) {
      expect([403, 404], JSON.stringify(response)).toContain(response.status)
      expect(tells(response.body)).toBe(false)
    }
  })

  test('a guest gets no file, no picture and no face', async () => {
    const { open } = environment.channel
    for (const path of [
      beyond.file,
      `/channels/${open.id}/messages/image/${beyond.image}`,
      `/channels/${shared.id}/messages/image/${beyond.image}`,
      beyond.avatar,
    ]) {
      const { status, bytes } = await gus.downloads(path)
      expect([path, [403, 404].includes(status)]).toEqual([path, true])
      expect(bytes.toString()).not.toContain('confidential')
    }
  })

  test('a guest cannot bring content of other channels into their own', async () => {
    const path = `/channels/${shared.id}/messages`
    const { body } = await environment.people.ann.get(`/messages/${beyond.id}`)
    for (const what of [
      { content: 'mine', attachments: body.message.attachments },
      { content: 'mine', images: [beyond.image] },
    ]) {
      const response = await gus.post(path, what)
      expect([400, 403, 404], JSON.stringify(response.body)).toContain(response.status)
    }
    expect((await gus.downloads(beyond.file)).status).not.toBe(200)
  })

  test('a search finds nothing, with any parameters', async () => {
    const { open } = environment.channel
    for (const query of [
      'q=confidential',
      `q=confidential&channelId=${open.id}`,
      `q=${encodeURIComponent('confidential in:#open')}`,
      `q=${encodeURIComponent('confidential from:@ann')}`,
    ]) {
      const { status, body } = await gus.get(`/search/messages?${query}`)
      expect([query, status === 200 ? body.messages : []]).toEqual([query, []])
      expect(tells(status === 200 ? body.messages : body)).toBe(false)
    }
    expect((await environment.people.bob.get('/search/messages?q=confidential')).body.messages).not.toEqual([])
  })
})

test('Slack’s API shows a guest the same as the other routes', async () => {
  const { ann, bob, cat } = environment.people
  const { open } = environment.channel
  const call = async (method: string, args: Record<string, string>) => {
    const response = await fetch(`${environment.baseUrl}/slack/api/${method}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${slackToken}`, 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams(args),
    })
    expect(response.status).toBe(200)
    // biome-ignore lint/suspicious/noExplicitAny: bodies of several shapes
    return (await response.json()) as any
  }
  const at = { channel: open.id, timestamp: beyond.ts, ts: beyond.ts, message_ts: beyond.ts }
  const refused: [string, Record<string, string>][] = [
    ['conversations.info', at],
    ['conversations.history', { channel: open.id }],
    ['conversations.replies', at],
    ['conversations.members', at],
    ['conversations.join', at],
    ['conversations.history', { channel: '#open' }],
    ['conversations.open', { users: cat.id }],
    ['chat.postMessage', { ...at, text: 'x' }],
    ['chat.postMessage', { channel: open.id, thread_ts: beyond.ts, text: 'x' }],
    ['chat.postMessage', { channel: cat.id, text: 'x' }],
    ['chat.postEphemeral', { channel: open.id, user: ann.id, text: 'x' }],
    ['chat.postEphemeral', { channel: shared.id, user: cat.id, text: 'x' }],
    ['chat.update', { ...at, text: 'x' }],
    ['chat.delete', at],
    ['chat.getPermalink', at],
    ['reactions.add', { ...at, name: 'eyes' }],
    ['reactions.get', at],
    ['pins.add', at],
    ['pins.list', at],
    ['conversations.create', { name: 'by a guest' }],
    ['conversations.rename', { channel: open.id, name: 'by a guest' }],
    ['conversations.setTopic', { channel: open.id, topic: 'x' }],
    ['conversations.invite', { channel: open.id, users: gus.id }],
    ['conversations.invite', { channel: open.id, users: ann.id }],
    ['conversations.invite', { channel: shared.id, users: cat.id, force: 'true' }],
    ['conversations.kick', { channel: open.id, user: ann.id }],
    ['conversations.leave', { channel: open.id }],
    ['bots.info', { bot: cat.id }],
    ['users.info', { user: cat.id }],
    ['users.getPresence', { user: cat.id }],
    ['users.getPresence', { user: bob.id }],
    ['usergroups.list', {}],
    ['usergroups.users.list', { usergroup: 'any' }],
    ['users.lookupByEmail', { email: 'cat@example.com' }],
  ]
  for (const [method, args] of refused) {
    const answer = await call(method, args)
    expect([method, answer.ok, tells(answer)]).toEqual([method, false, false])
  }
  expect((await call('conversations.list', {})).channels.map(({ id }: { id: string }) => id)).toEqual([shared.id])
  const { members } = await call('users.list', {})
  expect(members.map(({ id }: { id: string }) => id)).not.toContain(cat.id)
  const told = await call('chat.postMessage', { channel: shared.id, text: `hello <@${cat.id}>` })
  expect(told.ok).toBe(true)
  expect(told.message.text).not.toContain(cat.userName)
})

test('a consumer of a bot that is a guest gets only its own channels, before and after a reconnect', async () => {
  const { ada, ann, bob } = environment.people
  const { open } = environment.channel
  const { id } = (await ada.post('/bots', { userName: 'visiting bot' })).body.bot
  expect((await ada.put(`/users/${id}/role`, { role: 'guest' })).status).toBe(200)
  const { token } = (await ada.post(`/bots/${id}/tokens`, { name: 'x', scopes: ['write'] })).body
  const bot = new Person(environment.baseUrl, { id, userName: 'visiting bot' }, token)
  await bob.put(`/channels/${shared.id}`, { addMembers: [id] })
  const heard: string[] = []
  for (const round of [1, 2]) {
    if (round === 2) {
      await ann.says('confidential, while nobody listens', open)
      await bob.says('missed', shared)
    }
    const stream = await bot.opensStream(undefined, { consumer: 'all' })
    await ann.says('confidential too', open)
    const last = await bob.says(`round ${round}`, shared)
    const { cursor } = await stream.waitFor('NEW_MESSAGE', { id: last.id })
    heard.push(...stream.all('NEW_MESSAGE').map(({ content }) => content))
    expect(stream.received.filter(tells)).toEqual([])
    expect((await bot.put('/consumers/all', { cursor })).status).toBe(200)
    await stream.close()
  }
  expect(heard).toEqual(['round 1', 'missed', 'round 2'])
})
