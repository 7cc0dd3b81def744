import { Person } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { type ErrorCode, LogLevel, WebClient } from '@slack/web-api'
import { beforeAll, describe, expect, test } from 'vitest'
import { createsBot } from '../bot.testing.ts'

const environment = testEnvironment()
let slack: WebClient
const clientWith = (token: string | undefined) =>
  new WebClient(token, {
    slackApiUrl: `${environment.baseUrl}/slack/api/`,
    retryConfig: { retries: 0 },
    logLevel: LogLevel.ERROR,
  })
const wordOf = (call: Promise<unknown>) =>
  call.then(
    () => 'ok',
    (error: { code: ErrorCode; data?: { error: string } }) => error.data?.error,
  )

const tsOf = async ({ id }: { id: string }, { content }: { content: string }) =>
  (await slack.conversations.history({ channel: id })).messages!.find(({ text }) => text === content)!.ts!

beforeAll(() => {
  slack = clientWith(environment.people.ann.token)
})

describe('the web API for @slack/web-api', () => {
  test('identifies the caller, and refuses others', async () => {
    const { ann } = environment.people
    expect(await slack.auth.test()).toMatchObject({ ok: true, user_id: ann.id, user: ann.userName })
    expect(await wordOf(clientWith(undefined).auth.test())).toBe('not_authed')
    expect(await wordOf(clientWith('xoxb-nothing').auth.test())).toBe('invalid_auth')
  })

  test('posts, changes and deletes messages, which keep their ts', async () => {
    const { bob } = environment.people
    const { open } = environment.channel
    const sent = await slack.chat.postMessage({ channel: open.id, text: 'Deployed <https://x.example|api> &amp; more' })
    expect(sent).toMatchObject({ channel: open.id, ts: expect.stringMatching(/^\d{10}\.\d{6}$/) })
    await environment.events.to(bob).toHave('NEW_MESSAGE', { content: 'Deployed [api](https://x.example) & more' })
    const reply = await slack.chat.postMessage({ channel: open.id, text: 'done', thread_ts: sent.ts! })
    expect(reply.message).toMatchObject({ thread_ts: sent.ts, text: 'done' })
    const blocks = [{ type: 'header' as const, text: { type: 'plain_text' as const, text: 'Failed' } }]
    await slack.chat.update({ channel: open.id, ts: sent.ts!, text: 'no', blocks })
    const { messages } = await slack.conversations.replies({ channel: open.id, ts: sent.ts! })
    expect(messages).toMatchObject([
      { ts: sent.ts, blocks, reply_count: 1 },
      { ts: reply.ts, text: 'done' },
    ])
    const other = clientWith(bob.token)
    expect(await wordOf(other.chat.update({ channel: open.id, ts: sent.ts!, text: 'x' }))).toBe('cant_update_message')
    expect(await wordOf(other.chat.delete({ channel: open.id, ts: sent.ts! }))).toBe('cant_delete_message')
    await slack.chat.delete({ channel: open.id, ts: sent.ts! })
    expect(await wordOf(slack.chat.delete({ channel: open.id, ts: sent.ts! }))).toBe('message_not_found')
  })

  test('a text that is no mrkdwn is posted as it is written', async () => {
    const { open } = environment.channel
    const text = '<https://x.example|api> &amp; more'
    await slack.chat.postMessage({ channel: open.id, text, mrkdwn: false })
    await environment.events.to(environment.people.bob).toHave('NEW_MESSAGE', { content: text })
  })

  test('a direct conversation has no pins, and nobody can join it', async () => {
    const { bob, cat } = environment.people
    const { channel } = await slack.conversations.open({ users: bob.id })
    expect(await slack.pins.list({ channel: channel!.id! })).toMatchObject({ ok: true, items: [] })
    expect(await wordOf(slack.conversations.join({ channel: channel!.id! }))).toBe(
      'method_not_supported_for_channel_type',
    )
    const stranger = clientWith(cat.token)
    expect(await wordOf(stranger.pins.list({ channel: channel!.id! }))).toBe('not_in_channel')
    expect(await wordOf(stranger.conversations.join({ channel: channel!.id! }))).toBe('not_in_channel')
  })

  test('a message with replies says who replied, and when last, without deleted replies', async () => {
    const { ann, bob } = environment.people
    const { id: channel } = await ann.creates({ name: `replies ${crypto.randomUUID()}` })
    const { ts } = await slack.chat.postMessage({ channel, text: 'parent' })
    const asBob = clientWith(bob.token)
    const parent = async () => (await slack.conversations.history({ channel })).messages?.[0]
    const thread = { channel, thread_ts: ts! }
    const first = await slack.chat.postMessage({ ...thread, text: 'first' })
    const second = await asBob.chat.postMessage({ ...thread, text: 'second' })
    const both = { reply_count: 2, reply_users_count: 2, latest_reply: second.ts }
    expect(await parent()).toMatchObject({ ...both, reply_users: expect.arrayContaining([ann.id, bob.id]) })
    await asBob.chat.delete({ channel, ts: second.ts! })
    expect(await parent()).toMatchObject({ reply_count: 1, reply_users: [ann.id], latest_reply: first.ts })
  })

  test('a reply in a direct conversation is a message there that quotes, because such conversations have no threads', async () => {
    const { ann, bob } = environment.people
    const asked = await clientWith(bob.token).chat.postMessage({ channel: ann.id, text: 'status?' })
    const channel = asked.channel!
    const sent = await slack.chat.postMessage({ channel, text: 'All is well', thread_ts: asked.ts! })
    expect(sent).toMatchObject({ ok: true, channel })
    const path = `/conversations/${encodeURIComponent(channel)}/messages`
    const [reply, question] = (await bob.get(path)).body.messages.toReversed()
    expect(reply).toMatchObject({ content: 'All is well', quotedMessageId: question.id })
    const unknown = slack.chat.postMessage({ channel, text: 'x', thread_ts: '1700000000.000000' })
    expect(await wordOf(unknown)).toBe('thread_not_found')
  })

  test('null counts as a missing argument', async () => {
    const body = { channel: environment.channel.open.id, text: 'x', thread_ts: null, blocks: null, attachments: null }
    const headers = { authorization: `Bearer ${environment.people.ann.token}`, 'content-type': 'application/json' }
    const url = `${environment.baseUrl}/slack/api/chat.postMessage`
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
    expect(await response.json()).toMatchObject({ ok: true })
  })

  test('a cursor of another list is refused as a cursor', async () => {
    const channel = environment.channel.open.id
    const { ts } = await slack.chat.postMessage({ channel, text: 'parent' })
    await slack.chat.postMessage({ channel, text: 'reply', thread_ts: ts! })
    const cursor = Buffer.from('nothing').toString('base64url')
    // All of them are awaited at once, because a refusal that nobody awaits yet is an unhandled rejection.
    const words = await Promise.all(
      [
        slack.conversations.history({ channel, cursor }),
        slack.conversations.replies({ channel, ts: ts!, cursor }),
        slack.conversations.members({ channel, cursor }),
        slack.conversations.list({ cursor }),
        slack.users.list({ cursor }),
      ].map(wordOf),
    )
    expect(words).toEqual(Array(5).fill('invalid_cursor'))
  })

  test('shows mentions by ids, as programs search for them', async () => {
    const { ada, ann, bob } = environment.people
    const handle = `mentioned-${crypto.randomUUID()}`
    const { group } = (await ada.post('/groups', { handle, name: handle, members: [bob.id] })).body
    const { id: channel } = await ann.creates({ name: `mentions ${crypto.randomUUID()}` })
    const content = `@${ann.userName}, (@${bob.userName.toUpperCase()}) @${handle} @channel @here not ann@example.com`
    await bob.post(`/channels/${channel}/messages`, { content })
    const text = `<@${ann.id}>, (<@${bob.id}>) <!subteam^${group.id}|@${handle}> <!channel> <!here> not ann@example.com`
    expect((await slack.conversations.history({ channel })).messages).toMatchObject([{ text }])
    // A program that posts the text again mentions the same people.
    await slack.chat.postMessage({ channel, text })
    const [repeated, first] = (await ann.get(`/channels/${channel}/messages`)).body.messages.toReversed()
    expect(repeated.mentions).toEqual(first.mentions)
  })

  test('a channel that a text names by its id is written as a link to it, unless the channel is private', async () => {
    const { open, secret } = environment.channel
    const texts = [`see <#${open.id}> and <#${secret.id}|hidden>`, `<#${secret.id}>`]
    for (const text of texts) await slack.chat.postMessage({ channel: secret.id, text })
    const { messages } = (await environment.people.ann.get(`/channels/${secret.id}/messages`)).body
    const contents = messages.slice(-2).map(({ content }: { content: string }) => content)
    expect(contents).toEqual([`see #${open.name} and #hidden`, `#${secret.id}`])
  })

  test('marks the messages of bots by a bot_id', async () => {
    const { ann } = environment.people
    const bot = await createsBot(environment, `bot-${crypto.randomUUID()}`)
    const asBot = clientWith(bot.token)
    const { id: channel } = await ann.creates({ name: `bots ${crypto.randomUUID()}` })
    await slack.chat.postMessage({ channel, text: 'by a person' })
    await asBot.chat.postMessage({ channel, text: 'by a bot' })
    const [byBot, byPerson] = (await slack.conversations.history({ channel })).messages!
    expect(byBot).toMatchObject({ user: bot.id, bot_id: (await asBot.auth.test()).bot_id })
    expect(byPerson).not.toHaveProperty('bot_id')
    expect(await slack.auth.test()).not.toHaveProperty('bot_id')
  })

  test('a missing or unreadable argument has the error code of Slack', async () => {
    const channel = environment.channel.open.id
    const { ts: timestamp } = await slack.chat.postMessage({ channel, text: 'arguments' })
    const words = await Promise.all(
      [
        slack.apiCall('reactions.add', { channel, name: 'eyes' }),
        slack.apiCall('reactions.get', { channel, timestamp: 'yesterday' }),
        slack.apiCall('reactions.add', { channel, timestamp, name: 'not a name' }),
        slack.apiCall('pins.add', { channel }),
        slack.apiCall('conversations.list', { types: 'public_channel,direct' }),
      ].map(wordOf),
    )
    expect(words).toEqual(['no_item_specified', 'bad_timestamp', 'invalid_name', 'no_item_specified', 'invalid_types'])
    expect(await wordOf(slack.conversations.list({ types: 'public_channel, private_channel,mpim,im' }))).toBe('ok')
    expect(await wordOf(slack.reactions.add({ channel, timestamp: timestamp!, name: 'party_parrot' }))).toBe('ok')
  })

  test('a text that is longer than a message is cut, and the response says so like Slack', async () => {
    const channel = environment.channel.open.id
    const cut = await slack.chat.postMessage({ channel, text: `${'word '.repeat(4_000)}` })
    expect(cut).toMatchObject({ warning: 'message_truncated', response_metadata: { warnings: ['message_truncated'] } })
    expect(cut.message?.text).toMatch(/…$/)
    const whole = await slack.chat.update({ channel, ts: cut.ts!, text: 'short' })
    expect(whole).not.toHaveProperty('warning')
    expect(await wordOf(slack.chat.postMessage({ channel, text: 'x'.repeat(40_001) }))).toBe('msg_too_long')
  })

  test('lists the conversations of another person, as far as the caller may see them', async () => {
    const { ann, bob } = environment.people
    const { secret } = environment.channel
    const own = await ann.creates({ name: `own ${crypto.randomUUID()}` })
    const shared = await ann.creates({ name: `shared ${crypto.randomUUID()}`, members: [bob.id] })
    const hidden = await bob.creates({ name: `hidden ${crypto.randomUUID()}`, isPrivate: true })
    const ids: (string | undefined)[] = []
    const types = 'public_channel,private_channel,im'
    for await (const page of slack.paginate('users.conversations', { user: bob.id, types, limit: 2 }))
      ids.push(...((page as { channels?: { id: string }[] }).channels ?? []).map(({ id }) => id))
    expect(ids).toEqual(expect.arrayContaining([secret.id, shared.id]))
    for (const id of [own.id, hidden.id]) expect(ids).not.toContain(id)
    expect(ids.filter((id) => id?.startsWith('dm:'))).toEqual([])
    for (const user of ['U0NOBODY', crypto.randomUUID()])
      expect(await wordOf(slack.users.conversations({ user }))).toBe('user_not_found')
  })

  test('lists only public channels without `types`', async () => {
    const { open, secret } = environment.channel
    for (const list of [slack.conversations.list, slack.users.conversations]) {
      const ids = async (args: { types?: string }) => (await list(args)).channels!.map(({ id }) => id)
      const listed = await ids({})
      expect(listed).toContain(open.id)
      expect(listed).not.toContain(secret.id)
      expect(await ids({ types: 'private_channel' })).toContain(secret.id)
    }
  })

  test('has the history in pages, newest first, each ts once and in order', async () => {
    const { ann } = environment.people
    const channel = await ann.creates({ name: `history ${crypto.randomUUID()}` })
    for (let n = 1; n <= 5; n++) await slack.chat.postMessage({ channel: channel.id, text: `${n}` })
    const texts: string[] = []
    const timestamps: number[] = []
    for await (const page of slack.paginate('conversations.history', { channel: channel.id, limit: 2 })) {
      for (const { text, ts } of (page as { messages?: { text: string; ts: string }[] }).messages ?? []) {
        texts.push(text)
        timestamps.push(Number(ts))
      }
    }
    expect(texts).toEqual(['5', '4', '3', '2', '1'])
    expect(new Set(timestamps).size).toBe(5)
    expect(timestamps).toEqual(timestamps.toSorted((one, other) => other - one))
  })

  test('finds messages between two moments, in pages, in channels and threads', async () => {
    const { ann } = environment.people
    const { id: channel } = await ann.creates({ name: `span ${crypto.randomUUID()}` })
    environment.stopClock()
    const sent: string[] = []
    for (let n = 0; n < 12; n++) sent.push((await slack.chat.postMessage({ channel, text: `${n}` })).ts!)
    const thread = { channel, thread_ts: sent[0]! }
    const replied: string[] = []
    for (let n = 0; n < 6; n++) replied.push((await slack.chat.postMessage({ ...thread, text: `reply ${n}` })).ts!)
    expect(new Set([...sent, ...replied]).size).toBe(18)
    // The clock is further behind than the ids of messages can compensate.
    environment.pass(-20_000)
    const ahead = await slack.chat.postMessage({ channel, text: 'by a clock that is behind' })
    environment.pass(20_000)
    await slack.reactions.add({ channel, timestamp: ahead.ts!, name: 'eyes' })

    const pages = async (method: string, args: object) => {
      const texts: string[] = []
      for await (const page of slack.paginate(method, { channel, limit: 3, ...args }))
        texts.push(...((page as { messages?: { text: string }[] }).messages ?? []).map(({ text }) => text))
      return texts
    }
    const span = { oldest: sent[2]!, latest: sent[8]! }
    expect(await pages('conversations.history', span)).toEqual(['7', '6', '5', '4', '3'])
    expect(await pages('conversations.history', { ...span, inclusive: true })).toHaveLength(7)
    expect(await pages('conversations.history', { latest: sent[0]! })).toEqual([])
    expect(await pages('conversations.history', { oldest: ahead.ts! })).toEqual([])
    const replies = { ts: sent[0]!, oldest: replied[1]!, latest: replied[5]! }
    expect(await pages('conversations.replies', replies)).toEqual(['0', 'reply 2', 'reply 3', 'reply 4'])
    expect(await pages('conversations.replies', { ts: sent[0]!, oldest: replied[5]! })).toEqual(['0'])
    expect(await wordOf(slack.conversations.history({ channel, oldest: 'yesterday' }))).toBe('invalid_ts_oldest')
  })

  test('sends an ephemeral message only to a person who may read the channel', async () => {
    const { ann, bob, cat } = environment.people
    const { secret } = environment.channel
    const told = await slack.chat.postEphemeral({ channel: secret.id, user: bob.id, text: 'only you' })
    expect(told.message_ts).toMatch(/^\d{10}\.\d{6}$/)
    await environment.events.to(bob).toHave('EPHEMERAL_MESSAGE', { channelId: secret.id, content: 'only you' })
    await environment.events.to(ann).neverHave('EPHEMERAL_MESSAGE', { content: 'only you' })
    const post = (client: WebClient, user: string) =>
      wordOf(client.chat.postEphemeral({ channel: secret.id, user, text: 'x' }))
    expect(await post(slack, cat.id)).toBe('user_not_in_channel')
    expect(await post(slack, 'nobody')).toBe('user_not_in_channel')
    expect(await post(clientWith(cat.token), bob.id)).toBe('not_in_channel')
    const { body } = await ann.post('/auth/tokens', { name: 'reads', scopes: ['read'] })
    expect(await post(clientWith(body.token), bob.id)).toBe('missing_scope')
  })

  test('finds people by their address', async () => {
    const { bob } = environment.people
    const { user } = await slack.users.lookupByEmail({ email: 'BOB@example.com' })
    expect(user).toMatchObject({ id: bob.id, name: bob.userName })
    expect(await wordOf(slack.users.lookupByEmail({ email: 'bob@example' }))).toBe('users_not_found')
  })

  test('shows people only what they may read', async () => {
    const { cat } = environment.people
    const { secret } = environment.channel
    const outside = clientWith(cat.token)
    expect(await wordOf(outside.conversations.history({ channel: secret.id }))).toBe('not_in_channel')
    expect(await wordOf(outside.conversations.info({ channel: secret.id }))).toBe('channel_not_found')
    expect(await wordOf(outside.chat.postMessage({ channel: secret.id, text: 'x' }))).toBe('not_in_channel')
    expect(await wordOf(outside.conversations.history({ channel: '#nowhere' }))).toBe('channel_not_found')
    const { ts } = await slack.chat.postMessage({ channel: secret.id, text: 'hidden' })
    expect(await wordOf(outside.reactions.get({ channel: secret.id, timestamp: ts! }))).toBe('message_not_found')
    const listed = await outside.conversations.list({ types: 'private_channel,public_channel' })
    expect(listed.channels?.map(({ id }) => id)).not.toContain(secret.id)
  })

  test('does not reveal by a ts whether a message exists in a channel that the caller may not read', async () => {
    const { cat } = environment.people
    const { secret: channel } = environment.channel
    const outside = clientWith(cat.token)
    const { ts } = await slack.chat.postMessage({ channel: channel.id, text: 'hidden' })
    const wordsFor = (stamp: string) =>
      Promise.all(
        [
          outside.chat.getPermalink({ channel: channel.id, message_ts: stamp }),
          outside.chat.update({ channel: channel.id, ts: stamp, text: 'x' }),
          outside.chat.delete({ channel: channel.id, ts: stamp }),
          outside.chat.postMessage({ channel: channel.id, thread_ts: stamp, text: 'x' }),
          outside.conversations.replies({ channel: channel.id, ts: stamp }),
          outside.reactions.add({ channel: channel.id, timestamp: stamp, name: 'eyes' }),
          outside.pins.add({ channel: channel.id, timestamp: stamp }),
        ].map(wordOf),
      )
    const words = await wordsFor(ts!)
    expect(words).toEqual(await wordsFor('1700000000.000000'))
    expect(words).not.toContain('ok')
  })

  test('unfurls nothing for anybody, and posts no link for a token that may only read', async () => {
    const { ann } = environment.people
    const { open, secret: hidden } = environment.channel
    const { ts } = await slack.chat.postMessage({ channel: hidden.id, text: 'see https://x.example' })
    const { permalink } = await slack.chat.getPermalink({ channel: hidden.id, message_ts: ts! })
    const { body } = await ann.post('/auth/tokens', { name: 'reads', scopes: ['read'] })
    const reading = clientWith(body.token)
    for (const client of [slack, reading]) {
      const unfurls = { [permalink!]: { blocks: [] } }
      expect(await wordOf(client.chat.unfurl({ channel: hidden.id, ts: ts!, unfurls }))).toBe('unknown_method')
    }
    const text = `look: ${permalink}`
    const user = ann.id
    const posting = [
      reading.chat.postMessage({ channel: open.id, text, unfurl_links: true }),
      reading.chat.postEphemeral({ channel: open.id, user, text }),
      reading.chat.update({ channel: hidden.id, ts: ts!, text }),
    ]
    expect(await Promise.all(posting.map(wordOf))).toEqual(['missing_scope', 'missing_scope', 'missing_scope'])
  })

  test('a reaction or pin that is there already, or not at all, has the error code of Slack', async () => {
    const { bob } = environment.people
    const { open } = environment.channel
    const { ts } = await slack.chat.postMessage({ channel: open.id, text: 'twice' })
    const one = { channel: open.id, timestamp: ts! }
    const eyes = { ...one, name: 'eyes' }
    // Some programs use the reaction of their bot as a lock: of two calls at the same time, one succeeds.
    const added = await Promise.all([wordOf(slack.reactions.add(eyes)), wordOf(slack.reactions.add(eyes))])
    expect(added.sort()).toEqual(['already_reacted', 'ok'])
    expect(await wordOf(clientWith(bob.token).reactions.remove(eyes))).toBe('no_reaction')
    expect(await wordOf(slack.reactions.remove(eyes))).toBe('ok')
    expect(await wordOf(slack.reactions.remove(eyes))).toBe('no_reaction')
    expect(await wordOf(slack.pins.remove(one))).toBe('no_pin')
    expect(await wordOf(slack.pins.add(one))).toBe('ok')
    expect(await wordOf(slack.pins.add(one))).toBe('already_pinned')
    expect(await wordOf(slack.pins.remove(one))).toBe('ok')
  })

  test('an unknown thread has the error code of Slack, and a refusal is JSON', async () => {
    const channel = environment.channel.open.id
    expect(await wordOf(slack.conversations.replies({ channel, ts: '1700000000.000000' }))).toBe('thread_not_found')
    const refused = await fetch(`${environment.baseUrl}/slack/api/auth.test`, {
      headers: { authorization: 'Bearer x' },
    })
    expect(refused.headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(await refused.json()).toEqual({ ok: false, error: 'invalid_auth' })
  })

  test('a direct message is opened with one other person, and with several people it is refused', async () => {
    const { ann, bob, ada } = environment.people
    const direct = await slack.conversations.open({ users: bob.id })
    const withCaller = await slack.conversations.open({ users: `${ann.id},${bob.id}` })
    expect(withCaller.channel?.id).toBe(direct.channel?.id)
    expect(await wordOf(slack.conversations.open({ users: `${bob.id},${ada.id}` }))).toBe('too_many_users')
    expect(await wordOf(slack.conversations.open({ users: ann.id }))).toBe('user_not_found')
  })

  test('direct conversations are listed, after the channels, and have two members', async () => {
    const { ann, bob, ada } = environment.people
    const own = clientWith(ann.token)
    const opened = [await own.conversations.open({ users: bob.id }), await own.conversations.open({ users: ada.id })]
    const ids = opened.map(({ channel }) => channel!.id!)
    const [withBob] = ids

    const listed: (string | undefined)[][] = []
    for await (const page of own.paginate('users.conversations', { types: 'public_channel,im', limit: 1 })) {
      listed.push(((page as { channels?: { id: string }[] }).channels ?? []).map(({ id }) => id))
    }
    const all = listed.flat()
    expect(all).toContain(environment.channel.open.id)
    expect(all).toEqual(expect.arrayContaining(ids))
    expect(new Set(all).size).toBe(all.length)
    expect(all.findIndex((id) => id?.startsWith('dm:'))).toBeGreaterThan(all.indexOf(environment.channel.open.id))
    const { channels } = await own.conversations.list({ types: 'im' })
    expect(channels).toContainEqual(expect.objectContaining({ id: withBob, is_im: true, user: bob.id }))

    expect((await own.conversations.members({ channel: withBob! })).members?.sort()).toEqual([ann.id, bob.id].sort())
    expect(await wordOf(clientWith(ada.token).conversations.members({ channel: withBob! }))).toBe('not_in_channel')
    const again = await own.conversations.open({ channel: withBob! })
    expect(again).toMatchObject({ already_open: true, channel: { id: withBob, user: bob.id } })
  })

  test('people have their full names, and deactivated ones are deleted', async () => {
    const { ada } = environment.people
    const cleo = await Person.signIn(environment.baseUrl, `${crypto.randomUUID()}@example.com`)
    await cleo.put('/users/me', { displayName: 'Cleo Case' })
    const profile = { real_name: 'Cleo Case', display_name: cleo.userName }
    const active = { name: cleo.userName, real_name: 'Cleo Case', deleted: false, profile }
    expect((await slack.users.info({ user: cleo.id })).user).toMatchObject(active)
    await ada.put(`/users/${cleo.id}/active`, { isActive: false })
    expect((await slack.users.info({ user: cleo.id })).user).toMatchObject({ ...active, deleted: true })
  })

  test('people have their title and their custom status', async () => {
    const dora = await Person.signIn(environment.baseUrl, `${crypto.randomUUID()}@example.com`)
    const profile = async () => (await slack.users.info({ user: dora.id })).user?.profile
    expect(await profile()).toMatchObject({ title: '', status_text: '', status_emoji: '', status_expiration: 0 })
    await dora.put('/users/me', { title: 'Pilot' })
    const expiresAt = Date.now() + 3_600_000
    await dora.put('/users/me/status', { text: 'On holiday', emoji: '🌴', expiresAt })
    expect(await profile()).toMatchObject({
      title: 'Pilot',
      status_text: 'On holiday',
      status_emoji: ':palm_tree:',
      status_expiration: Math.floor(expiresAt / 1_000),
    })
  })

  test('a person changes their profile and status, and nobody else’s', async () => {
    const edda = await Person.signIn(environment.baseUrl, `${crypto.randomUUID()}@example.com`)
    const own = clientWith(edda.token)
    const shown = async () => (await edda.get('/auth/me')).body.user
    const status_expiration = Math.floor(Date.now() / 1_000) + 3_600
    const profile = { status_text: 'In a meeting', status_emoji: ':calendar:', status_expiration, title: 'Pilot' }
    expect((await own.users.profile.set({ profile })).profile).toMatchObject(profile)
    const customStatus = { text: 'In a meeting', emoji: '📆', expiresAt: status_expiration * 1_000 }
    expect(await shown()).toMatchObject({ title: 'Pilot', customStatus })
    expect((await slack.users.profile.get({ user: edda.id })).profile).toMatchObject(profile)

    // Fields that are missing stay, except for the end of a status.
    await own.users.profile.set({ name: 'status_text', value: 'At my desk' } as never)
    expect(await shown()).toMatchObject({ customStatus: { text: 'At my desk', emoji: '📆', expiresAt: null } })
    await own.users.profile.set({ profile: { real_name: 'Edda Eriksen' } })
    expect(await shown()).toMatchObject({ displayName: 'Edda Eriksen', customStatus: { text: 'At my desk' } })
    await own.users.profile.set({ profile: { status_text: '', status_emoji: '' } })
    expect(await shown()).toMatchObject({ title: 'Pilot', customStatus: null })

    const set = (wish: object) => wordOf(own.users.profile.set({ profile: wish } as never))
    expect(await set({ status_emoji: ':no-such-emoji:' })).toBe('profile_status_set_failed_not_valid_emoji')
    expect(await set({ status_text: 'x'.repeat(101) })).toBe('profile_status_set_failed_too_long')
    expect(await set({ status_text: 'Out', status_expiration: 1 })).toBe('invalid_profile')
    expect(await set({ status_text: 'Out', status_expiration: 'soon' })).toBe(
      'profile_status_set_failed_not_valid_expiration',
    )
    expect(await set({ status_text: 'turned \u202e around', title: 'Cook' })).toBe('invalid_profile')
    expect(await shown()).toMatchObject({ title: 'Pilot', customStatus: null })
    expect(await set({ title: 7 })).toBe('invalid_profile')
    for (const wish of [{}, { profile: 'no JSON' }, { profile: '7' }]) {
      expect(await wordOf(own.users.profile.set(wish as never))).toBe('invalid_profile')
    }
    expect(await wordOf(slack.users.profile.set({ user: edda.id, profile: { title: 'x' } }))).toBe('not_admin')
    expect(await shown()).toMatchObject({ title: 'Pilot', customStatus: null })
    expect(await wordOf(slack.users.profile.get({ user: crypto.randomUUID() }))).toBe('user_not_found')
  })

  test.each([
    [':palm_tree:', '🌴'],
    ['palm_tree', '🌴'],
    ['❤', '❤️'],
    [':wave::skin-tone-6:', '👋🏿'],
    [':flag-scotland:', '🏴󠁧󠁢󠁳󠁣󠁴󠁿'],
    [':skin-tone-6:', '🏿'],
  ])('the emoji %s of a status is stored as %s', async (status_emoji, emoji) => {
    const { bob } = environment.people
    await clientWith(bob.token).users.profile.set({ profile: { status_emoji } })
    expect((await bob.get('/auth/me')).body.user.customStatus).toEqual({ text: '', emoji, expiresAt: null })
    await bob.delete('/users/me/status')
  })

  test('a program that sends the whole profile back changes only the status', async () => {
    const finn = await Person.signIn(environment.baseUrl, `${crypto.randomUUID()}@example.com`)
    const own = clientWith(finn.token)
    const { profile } = await own.users.profile.get({})
    await own.users.profile.set({ profile: { ...profile, status_text: 'Out' } } as never)
    const { user } = (await finn.get('/auth/me')).body
    expect(user).toMatchObject({ displayName: null, title: null, customStatus: { text: 'Out' } })
    await environment.deps.db.updateTable('users').set({ managedBy: 'sso' }).where('id', '=', finn.id).execute()
    expect(await own.users.profile.set({ profile: { ...profile, status_text: 'In' } } as never)).toMatchObject({
      profile: { status_text: 'In' },
    })
    expect(await wordOf(own.users.profile.set({ profile: { title: 'Pilot' } }))).toBe('not_allowed')
  })

  test('a permalink is the address in the web client that opens the message, or the reply in its thread', async () => {
    const { open } = environment.channel
    const { ann } = environment.people
    const message = await ann.says('a message with an address', environment.channel.open)
    const ts = await tsOf(open, message)
    const sent = await slack.chat.postMessage({ channel: open.id, text: 'a reply with an address', thread_ts: ts })
    const { replies } = (await ann.get(`/messages/${message.id}/thread`)).body
    const pathOf = async (messageTs: string, channel = open.id) =>
      new URL((await slack.chat.getPermalink({ channel, message_ts: messageTs })).permalink!).pathname
    expect(await pathOf(ts)).toBe(`/c/${open.id}/m/${message.id}`)
    expect(await pathOf(sent.ts!)).toBe(`/c/${open.id}/t/${message.id}/m/${replies[0].id}`)

    const direct = await slack.chat.postMessage({ channel: environment.people.bob.id, text: 'a direct message' })
    const { messages } = (await ann.get(`/conversations/${direct.channel}/messages?limit=1`)).body
    expect(await pathOf(direct.ts!, direct.channel!)).toBe(`/c/${direct.channel}/m/${messages[0].id}`)
  })

  test('emphasis has the form of mrkdwn', async () => {
    const channel = environment.channel.open
    await environment.people.bob.says('**bold**, ~~struck out~~ and ~this~, ~~~not this~~~', channel)
    const { messages } = await slack.conversations.history({ channel: channel.id, limit: 1 })
    expect(messages?.[0]?.text).toBe('*bold*, ~struck out~ and ~this~, ~~~not this~~~')
  })

  test('a reaction by name is the emoji that people see, and their emoji have names', async () => {
    const { ann, bob } = environment.people
    const { open } = environment.channel
    const message = await bob.says('react', environment.channel.open)
    const one = { channel: open.id, timestamp: await tsOf(open, message) }
    await slack.reactions.add({ ...one, name: 'white_check_mark' })
    await slack.reactions.add({ ...one, name: 'thumbsup::skin-tone-3' })
    await bob.post(`/messages/${message.id}/reactions`, { reaction: '\u2705\ufe0f' })
    // Other clients leave out the variation selector, and earlier versions stored names.
    await bob.post(`/messages/${message.id}/reactions`, { reaction: '\u2764' })
    await ann.post(`/messages/${message.id}/reactions`, { reaction: ':heart:' })
    expect((await bob.get(`/messages/${message.id}`)).body.message.reactions).toEqual({
      '\u2705\ufe0f': [ann.id, bob.id],
      '\u{1f44d}\u{1f3fc}': [ann.id],
      '\u2764': [bob.id],
      ':heart:': [ann.id],
    })

    const { messages } = await slack.conversations.history({ channel: open.id, limit: 1 })
    expect(messages?.[0]?.reactions).toEqual([
      { name: 'white_check_mark', users: [ann.id, bob.id], count: 2 },
      { name: '+1::skin-tone-3', users: [ann.id], count: 1 },
      { name: 'heart', users: [bob.id, ann.id], count: 2 },
    ])
    for (const name of ['white_check_mark', '+1::skin-tone-3', 'heart']) await slack.reactions.remove({ ...one, name })
    expect((await bob.get(`/messages/${message.id}`)).body.message.reactions).toEqual({
      '\u2705\ufe0f': [bob.id],
      '\u2764': [bob.id],
    })
  })

  test('a reaction is removed in all spellings that the person used, which Slack’s programs see as one', async () => {
    const { ann, bob } = environment.people
    const { open } = environment.channel
    const message = await bob.says('react in several spellings', environment.channel.open)
    const one = { channel: open.id, timestamp: await tsOf(open, message) }
    for (const reaction of ['\u2764', ':heart:', ':thumbsup:'])
      await ann.post(`/messages/${message.id}/reactions`, { reaction })
    await bob.post(`/messages/${message.id}/reactions`, { reaction: ':heart:' })
    for (const name of ['heart', '+1']) await slack.reactions.remove({ ...one, name })
    expect((await bob.get(`/messages/${message.id}`)).body.message.reactions).toEqual({ ':heart:': [bob.id] })
    for (const name of ['heart', '+1', 'eyes'])
      expect(await wordOf(slack.reactions.remove({ ...one, name }))).toBe('no_reaction')
  })

  test('a reaction gets the spelling that it has already, and nobody has it in two spellings', async () => {
    const { ann, bob } = environment.people
    const { open } = environment.channel
    const message = await bob.says('react once', environment.channel.open)
    const one = { channel: open.id, timestamp: await tsOf(open, message) }
    await ann.post(`/messages/${message.id}/reactions`, { reaction: ':heart:' })
    await bob.post(`/messages/${message.id}/reactions`, { reaction: '\u2705\ufe0f' })
    expect(await wordOf(slack.reactions.add({ ...one, name: 'heart' }))).toBe('already_reacted')
    expect(await wordOf(clientWith(bob.token).reactions.add({ ...one, name: 'heart' }))).toBe('ok')
    expect(await wordOf(slack.reactions.add({ ...one, name: 'white_check_mark' }))).toBe('ok')
    expect((await bob.get(`/messages/${message.id}`)).body.message.reactions).toEqual({
      ':heart:': [ann.id, bob.id],
      '\u2705\ufe0f': [bob.id, ann.id],
    })
  })

  test('reacts, pins, opens direct messages, and lists people', async () => {
    const { ann, bob } = environment.people
    const { open } = environment.channel
    const { ts } = await slack.chat.postMessage({ channel: `#${open.name}`, text: 'look' })
    await slack.reactions.add({ channel: open.id, timestamp: ts!, name: 'thumbsup' })
    const { message } = await slack.reactions.get({ channel: open.id, timestamp: ts! })
    expect(message?.reactions).toEqual([{ name: '+1', users: [ann.id], count: 1 }])
    await slack.reactions.remove({ channel: open.id, timestamp: ts!, name: 'thumbsup' })
    await slack.pins.add({ channel: open.id, timestamp: ts! })
    expect((await slack.pins.list({ channel: open.id })).items).toHaveLength(1)
    await slack.pins.remove({ channel: open.id, timestamp: ts! })
    const direct = await slack.conversations.open({ users: bob.id })
    expect(direct.channel?.id).toMatch(/^dm:/)
    await slack.chat.postMessage({ channel: bob.id, text: 'psst' })
    await environment.events.to(bob).toHave('NEW_DM_MESSAGE', { content: 'psst' })
    expect((await slack.users.list({})).members?.map(({ id }) => id)).toContain(bob.id)
    expect((await slack.users.info({ user: bob.id })).user).toMatchObject({ name: bob.userName, is_bot: false })
    expect((await slack.conversations.members({ channel: open.id })).members).toContain(ann.id)
  })
})
