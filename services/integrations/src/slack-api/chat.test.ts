import { testEnvironment } from '@parley/test/test-environment'
import type { WebClient } from '@slack/web-api'
import { beforeAll, describe, expect, test } from 'vitest'
import { createsBot } from '../bot.testing.ts'
import { slackClient, tsOf, wordOf } from './slack-client.testing.ts'

const environment = testEnvironment()
const clientWith = (token: string | undefined) => slackClient(environment, token)
let slack: WebClient
beforeAll(() => {
  slack = slackClient(environment, environment.people.ann.token)
})

describe('the chat methods for @slack/web-api', () => {
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

  test('a text that is longer than a message is cut, and the response says so like Slack', async () => {
    const channel = environment.channel.open.id
    const cut = await slack.chat.postMessage({ channel, text: `${'word '.repeat(4_000)}` })
    expect(cut).toMatchObject({ warning: 'message_truncated', response_metadata: { warnings: ['message_truncated'] } })
    expect(cut.message?.text).toMatch(/…$/)
    const whole = await slack.chat.update({ channel, ts: cut.ts!, text: 'short' })
    expect(whole).not.toHaveProperty('warning')
    expect(await wordOf(slack.chat.postMessage({ channel, text: 'x'.repeat(40_001) }))).toBe('msg_too_long')
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

  test('emphasis has the form of mrkdwn', async () => {
    const channel = environment.channel.open
    await environment.people.bob.says('**bold**, ~~struck out~~ and ~this~, ~~~not this~~~', channel)
    const { messages } = await slack.conversations.history({ channel: channel.id, limit: 1 })
    expect(messages?.[0]?.text).toBe('*bold*, ~struck out~ and ~this~, ~~~not this~~~')
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

  test('a permalink is the address in the web client that opens the message, or the reply in its thread', async () => {
    const { open } = environment.channel
    const { ann } = environment.people
    const message = await ann.says('a message with an address', environment.channel.open)
    const ts = await tsOf(slack, open, message)
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
})
