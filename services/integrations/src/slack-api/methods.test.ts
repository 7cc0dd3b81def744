import { testEnvironment } from '@parley/test/test-environment'
import type { WebClient } from '@slack/web-api'
import { beforeAll, describe, expect, test } from 'vitest'
import { slackClient, wordOf } from './slack-client.testing.ts'

const environment = testEnvironment()
const clientWith = (token: string | undefined) => slackClient(environment, token)
let slack: WebClient
beforeAll(() => {
  slack = slackClient(environment, environment.people.ann.token)
})

describe('the web API for @slack/web-api', () => {
  test('identifies the caller, and refuses others', async () => {
    const { ann } = environment.people
    expect(await slack.auth.test()).toMatchObject({ ok: true, user_id: ann.id, user: ann.userName })
    expect(await wordOf(clientWith(undefined).auth.test())).toBe('not_authed')
    expect(await wordOf(clientWith('xoxb-nothing').auth.test())).toBe('invalid_auth')
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

  test('an unknown thread has the error code of Slack, and a refusal is JSON', async () => {
    const channel = environment.channel.open.id
    expect(await wordOf(slack.conversations.replies({ channel, ts: '1700000000.000000' }))).toBe('thread_not_found')
    const refused = await fetch(`${environment.baseUrl}/slack/api/auth.test`, {
      headers: { authorization: 'Bearer x' },
    })
    expect(refused.headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(await refused.json()).toEqual({ ok: false, error: 'invalid_auth' })
  })

  test('a refusal says what is wrong, where the client logs it', async () => {
    const { ann } = environment.people
    const { body } = await ann.post('/auth/tokens', { name: 'reads', scopes: ['read'] })
    const channel = environment.channel.open.id
    const sentences = await Promise.all(
      [
        slack.apiCall('chat.scheduleMessage', { channel }),
        slack.apiCall('chat.postMessage', { text: 'x' }),
        clientWith(body.token).chat.postMessage({ channel, text: 'x' }),
        slack.files.getUploadURLExternal({ filename: 'Dockerfile', length: 1 }),
        slack.files.getUploadURLExternal({ filename: 'a.txt', length: 26 * 1024 * 1024 }),
        slack.conversations.open({ users: ann.id }),
      ].map((call) => call.then(undefined, ({ data }) => data.response_metadata.messages?.[0])),
    )
    expect(sentences).toEqual([
      '[ERROR] Parley has no method chat.scheduleMessage',
      '[ERROR] channel is missing',
      '[ERROR] The token needs the scope write',
      expect.stringMatching(/^\[ERROR\] filename must end with one of: .*\.pdf/),
      '[ERROR] length must be at most 26214400',
      '[ERROR] users must name somebody other than yourself',
    ])
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
})
