import type { Message } from '@parley/contract'
import { slackTs } from '@parley/slack'
import { Person } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { IncomingWebhook } from '@slack/webhook'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { textsOf } from '../slack-objects/slack-content.ts'
import { alertmanager, payloads } from './payloads.testing.ts'

const environment = testEnvironment({ webhooks: { perMinute: 8, maxMentions: 2 } })
let webhook: { id: string; token: string; url: string; channelId: string }
let url: string

beforeAll(() => expect(environment.deps.config.auth.appUrl).toMatch(/^http/))
beforeEach(async () => {
  const { ada } = environment.people
  webhook = (await ada.post('/webhooks', { name: 'alerts', channelId: environment.channel.secret.id })).body.webhook
  url = environment.baseUrl + new URL(webhook.url).pathname
})

const post = async (body: string | URLSearchParams, type?: string) => {
  const response = await fetch(url, { method: 'POST', body, ...(type && { headers: { 'content-type': type } }) })
  return [response.status, await response.text()]
}
const postJson = (payload: unknown) => post(JSON.stringify(payload), 'application/json')
const last = async (): Promise<Message> =>
  (await environment.people.ann.get(`/channels/${webhook.channelId}/messages?limit=1`)).body.messages[0]

describe('POST /hooks/:webhookId/:secret', () => {
  test('accepts the requests of @slack/webhook', async () => {
    const slack = new IncomingWebhook(url, { username: 'Build', icon_emoji: ':rocket:' })
    expect(await slack.send({ text: 'Passed: <https://ci.example/7|build 7> &amp; *all* tests' })).toEqual({
      text: 'ok',
    })
    const message = await last()
    expect(message).toMatchObject({
      content: 'Passed: [build 7](https://ci.example/7) & *all* tests',
      blocks: [],
      author: { id: `webhook:${webhook.id}`, userName: 'Build', webhookName: 'alerts', isBot: true, icon: ':rocket:' },
    })
    await environment.events.to(environment.people.bob).toHave('NEW_MESSAGE', message)
    await expect(new IncomingWebhook(`${url}x`).send('x')).rejects.toThrow(/403/)
  })

  test('accepts JSON and forms with any content type', async () => {
    const payload = JSON.stringify({ text: 'hello' })
    expect(await post(payload, 'application/json; charset=utf-8')).toEqual([200, 'ok'])
    expect(await post(new URLSearchParams({ payload }))).toEqual([200, 'ok'])
    expect(await post(payload, 'text/plain')).toEqual([200, 'ok'])
    expect(await post(payload, 'application/x-www-form-urlencoded')).toEqual([200, 'ok'])
  })

  test('accepts JSON with a byte order mark, as PowerShell writes it', async () => {
    const payload = `\ufeff${JSON.stringify({ text: 'hello' })}`
    expect(await post(payload, 'application/json')).toEqual([200, 'ok'])
    expect(await post(new URLSearchParams({ payload }))).toEqual([200, 'ok'])
  })

  test('refuses in Slack’s words', async () => {
    expect(await post('{', 'application/json')).toEqual([400, 'invalid_payload'])
    expect(await post('')).toEqual([400, 'invalid_payload'])
    expect(await post('[]')).toEqual([400, 'invalid_payload'])
    expect(await post('{"text":"\\u0000"}')).toEqual([400, 'invalid_payload'])
    expect(await post(new URLSearchParams({ other: 'x' }))).toEqual([400, 'invalid_payload'])
    expect(await postJson({})).toEqual([400, 'no_text'])
    expect(await postJson({ text: ' ', blocks: [], attachments: [{}] })).toEqual([400, 'no_text'])
    expect(await postJson({ text: '\u200B' })).toEqual([400, 'no_text'])
    expect(await postJson({ blocks: 'x' })).toEqual([400, 'invalid_blocks'])
    url = `${environment.baseUrl}/hooks/${webhook.id}/wrong`
    expect(await postJson({ text: 'x' })).toEqual([403, 'invalid_token'])
    url = `${environment.baseUrl}/hooks/nothing/${webhook.token}`
    expect(await postJson({ text: 'x' })).toEqual([404, 'no_service'])
  })

  test('refuses posts beyond webhooks.perMinute with 429 and Retry-After', async () => {
    environment.stopClock()
    for (let n = 1; n <= 8; n++) expect(await postJson({ text: `${n}` })).toEqual([200, 'ok'])
    const refused = await fetch(url, { method: 'POST', body: '{"text":"one too many"}' })
    expect([refused.status, await refused.text()]).toEqual([429, 'rate_limited'])
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
  })

  test('replies to the thread of thread_ts, and the thread shows who wrote last', async () => {
    const { ann } = environment.people
    const parent = await ann.says('What is wrong?', environment.channel.secret)
    const { ts } = await environment.deps.db
      .selectFrom('messages')
      .select('ts')
      .where('id', '=', parent.id)
      .executeTakeFirstOrThrow()
    expect(await postJson({ text: 'disk full', thread_ts: slackTs(ts!) })).toEqual([200, 'ok'])
    const { replies } = (await ann.get(`/messages/${parent.id}/thread`)).body
    expect(replies).toMatchObject([{ content: 'disk full', threadId: parent.id }])
    const { threadMeta } = (await ann.get(`/messages/${parent.id}`)).body.message
    expect(threadMeta).toMatchObject({
      replyCount: 1,
      lastReplyBy: { id: `webhook:${webhook.id}`, userName: 'alerts' },
      participants: [],
    })
    await environment.events.to(ann).toHave('NEW_THREAD_REPLY', { parentMessageId: parent.id, threadMeta })
    await environment.people.ada.delete(`/messages/${replies[0].id}`)
    expect((await ann.get(`/messages/${parent.id}`)).body.message.threadMeta).toBe(null)
  })

  test('mentions people and everybody like mrkdwn, within the limits', async () => {
    const { ann, bob, ada } = environment.people
    await postJson({ text: `<!here> <@${bob.id}> <@${ann.id}|x> <@${ada.id}> <@nobody|Zoe>` })
    const message = await last()
    expect(message.content).toBe(`@here @${bob.userName} @${ann.userName} @${ada.userName} @Zoe`)
    expect(message.mentions).toEqual(['@here', bob.id, ann.id])
  })

  test('mentions people in rich_text by their names, and people who are unknown by their ids', async () => {
    const { ann } = environment.people
    const elements = [
      { type: 'user', user_id: ann.id },
      { type: 'text', text: ' please look, and ' },
      { type: 'user', user_id: 'U0NOBODY' },
      { type: 'text', text: ' too' },
    ]
    const section = { type: 'rich_text_section', elements }
    await postJson({ blocks: [{ type: 'rich_text', elements: [section] }] })
    const message = await last()
    expect(message.content).toBe(`@${ann.userName} please look, and @U0NOBODY too`)
    expect(message.mentions).toEqual([ann.id])
  })

  test('names public channels in rich_text, and leaves others as their ids', async () => {
    const { open, secret } = environment.channel
    const elements = [
      { type: 'text', text: 'see ' },
      { type: 'channel', channel_id: open.id },
      { type: 'text', text: ' and ' },
      { type: 'channel', channel_id: secret.id },
    ]
    await postJson({ blocks: [{ type: 'rich_text', elements: [{ type: 'rich_text_section', elements }] }] })
    expect((await last()).content).toBe(`see #open and #${secret.id}`)
  })

  test.each([
    ['cc:<@ID>', 'cc: @NAME'],
    ['<@ID>s turn', '@NAME s turn'],
    ['*<@ID>*', '@NAME'],
    ['*<@ID> is on call*, now', '@NAME *is on call*, now'],
    ['*_<@ID>_*, _*<@ID> is on call*_', '@NAME, @NAME _*is on call*_'],
    ['*_<@ID>_ is on call*', '@NAME *is on call*'],
    ['*<@ID> <@ID>*, *<@ID><@ID> are on call*', '@NAME @NAME, @NAME @NAME *are on call*'],
    ['*<@ID>*s', '* @NAME*s'],
    ['* <@ID>', '* @NAME'],
    ['<@ID><https://x.example>', '@NAME https://x.example'],
    ['<@ID>: (<@ID>), _look_', '@NAME: (@NAME), _look_'],
  ])('a mention is one in any place, such as in %s', async (text, content) => {
    const { ann } = environment.people
    await postJson({ text: text.replaceAll('ID', ann.id) })
    const message = await last()
    expect(message.content).toBe(content.replaceAll('NAME', ann.userName))
    expect(message.mentions).toEqual([ann.id])
  })

  test('a person who has left is named, unless somebody else has their name now, who is not mentioned', async () => {
    const { ada, ann } = environment.people
    const [zed, kim] = await Promise.all(
      ['zed', 'kim'].map((name) => Person.signIn(environment.baseUrl, `${name}@example.com`)),
    )
    for (const { id } of [zed!, kim!]) expect((await ada.delete(`/users/${id}`)).status).toBe(200)
    await Person.signIn(environment.baseUrl, 'zed@example.org')
    await postJson({ text: `<@${zed!.id}> <@${zed!.id}|zed> <@${kim!.id}> <@${ann.id}>` })
    const message = await last()
    expect(message.content).toBe(`@${zed!.id} @${zed!.id} @kim @${ann.userName}`)
    expect(message.mentions).toEqual([ann.id])
  })

  test('a mention between other parts of a rich_text is one', async () => {
    const { ann } = environment.people
    const elements = [
      { type: 'text', text: 'cc:' },
      { type: 'user', user_id: ann.id },
      { type: 'broadcast', range: 'here' },
      { type: 'text', text: 'now' },
    ]
    await postJson({ blocks: [{ type: 'rich_text', elements: [{ type: 'rich_text_section', elements }] }] })
    const message = await last()
    expect(message.content).toBe(`cc: @${ann.userName} @here now`)
    expect(message.mentions).toEqual([ann.id, '@here'])
  })

  test('a new address ends the old one', async () => {
    const { ada, ann } = environment.people
    expect((await ann.post(`/webhooks/${webhook.id}/url`, {})).status).toBe(403)
    const renewed = await ada.post(`/webhooks/${webhook.id}/url`, {})
    expect(await postJson({ text: 'x' })).toEqual([403, 'invalid_token'])
    url = environment.baseUrl + new URL(renewed.body.url).pathname
    expect(await postJson({ text: 'x' })).toEqual([200, 'ok'])
    expect(JSON.stringify((await ada.get('/webhooks')).body)).not.toContain('/hooks/')
    await ada.delete(`/webhooks/${webhook.id}`)
    expect(await postJson({ text: 'x' })).toEqual([404, 'no_service'])
  })
})

describe('the shown message', () => {
  test.each(Object.entries(payloads))(
    'of %s: its words, links and colour',
    async (_source, { payload, shows, color }) => {
      expect(await postJson(payload)).toEqual([200, 'ok'])
      const { content, blocks } = await last()
      for (const words of shows) expect(content).toContain(words)
      expect(blocks.find((block) => block.type === 'attachment')?.color ?? null).toBe(color)
      expect(content).not.toMatch(/[<>]http|&amp;|\|http/)
    },
  )

  test('is found by search, in the export of the message and in its listing alike', async () => {
    const { ann } = environment.people
    await postJson(alertmanager)
    const message = await last()
    const found = await ann.get(`/search/messages?q=DiskWillFill&channelId=${webhook.channelId}`)
    expect(found.body.messages).toContainEqual(message)
    expect((await ann.get(`/messages/${message.id}`)).body.message).toEqual(message)
    await environment.events.to(ann).toHave('NEW_MESSAGE', message)
  })

  test.each([
    ['between words', `a ${'word '.repeat(1_000)}`, /word$/],
    ['between characters', `a${'😀'.repeat(2_000)}`, /😀$/u],
  ])('has every character of a long text in one line, which is divided %s', async (_, text, end) => {
    expect(await postJson({ text, attachments: [{ text: 'attached' }] })).toEqual([200, 'ok'])
    const sections = (await last()).blocks.flatMap((block) => (block.type === 'section' ? [block.text!.text] : []))
    expect(sections).toEqual([expect.stringMatching(end), expect.any(String)])
    expect(sections.join('')).toBe(text)
  })

  test('keeps the question that a button asks before a click', async () => {
    const plain = (text: string) => ({ type: 'plain_text', text })
    const asking = {
      title: plain('Deploy'),
      text: { type: 'mrkdwn', text: 'To <https://prod.example|production>?' },
      confirm: plain('Yes'),
      deny: plain('x'.repeat(40)),
      style: 'danger',
      ignored: 1,
    }
    const button = (confirm: unknown) => ({ type: 'button', action_id: 'deploy', text: plain('Deploy'), confirm })
    const elements = [asking, { text: plain('Sure?'), style: 'loud' }, { title: plain('No text') }, 7].map(button)
    expect(await postJson({ text: 'A build is ready', blocks: [{ type: 'actions', elements }] })).toEqual([200, 'ok'])
    expect((await last()).blocks).toMatchObject([
      {
        elements: [
          {
            confirm: {
              title: plain('Deploy'),
              text: { type: 'mrkdwn', text: 'To [production](https://prod.example)?' },
              confirm: plain('Yes'),
              deny: plain(`${'x'.repeat(29)}…`),
              style: 'danger',
            },
          },
          { confirm: { text: plain('Sure?') } },
          {},
          {},
        ],
      },
    ])
    expect(JSON.stringify((await last()).blocks)).not.toMatch(/ignored|loud|No text/)
  })

  test('is harmless, with any content of a payload', async () => {
    const evil = {
      text: 'a <javascript:alert(1)|click> b\u202egnp.exe <https://x.example/a(b)|[y](z)>',
      blocks: [
        {
          type: 'section',
          text: { type: 'mrkdwn', text: '<data:text/html,x|data>' },
          accessory: { type: 'image', image_url: 'javascript:1', alt_text: 'x' },
        },
        {
          type: 'actions',
          elements: [
            { type: 'button', text: { type: 'plain_text', text: 'Go' }, url: 'javascript:alert(1)', action_id: 'go' },
          ],
        },
        { type: 'video', title: { type: 'plain_text', text: 'A video' }, __proto__: { x: 1 } },
        null,
        7,
        'text',
        [],
      ],
    }
    expect(await postJson(evil)).toEqual([200, 'ok'])
    const { content, blocks } = await last()
    expect(JSON.stringify(blocks)).not.toMatch(/javascript|data:/)
    expect(JSON.stringify([content, blocks])).not.toContain('\u202e')
    expect(content).toContain('[(y)(z)](https://x.example/a%28b%29)')
    expect(blocks.map(({ type }) => type)).toEqual(['section', 'actions', 'section'])
  })

  test('of a payload that is too large: a clear refusal, and the next post is accepted', async () => {
    const section = { type: 'section', text: { type: 'mrkdwn', text: 'x' } }
    expect(await postJson({ blocks: Array.from({ length: 10_000 }, () => section) })).toEqual([400, 'invalid_blocks'])
    const large = { ...section, text: { type: 'mrkdwn', text: 'x'.repeat(3_000) } }
    expect(await postJson({ blocks: Array.from({ length: 50 }, () => large) })).toEqual([400, 'invalid_blocks'])
    const deep = `{"text":"x","blocks":${'['.repeat(100_000)}${']'.repeat(100_000)}}`
    expect((await post(deep, 'application/json'))[0]).toBeLessThan(500)
    const nested = `{"blocks":[${'{"type":"a","text":'.repeat(20_000)}"x"${'}'.repeat(20_000)}]}`
    expect((await post(nested, 'application/json'))[0]).toBeLessThan(500)
    expect(await post(`{"text":"${'<'.repeat(900_000)}"}`, 'application/json')).toEqual([200, 'ok'])
    expect([413, 400]).toContain((await post(`{"text":"${'x'.repeat(3_000_000)}"}`, 'application/json'))[0])
    expect(await postJson({ text: 'still here' })).toEqual([200, 'ok'])
  })
})

test('looks for mentions in a bounded part of a payload', () => {
  let looks = 0
  const item = Object.defineProperty({}, 'text', {
    enumerable: true,
    get() {
      looks++
      return ''
    },
  })
  expect(textsOf({ text: 'hello', blocks: Array.from({ length: 200_000 }, () => item) })).toContain('hello')
  expect(looks).toBeLessThan(60_000)
  const text = '<@ann>'
  expect(textsOf({ blocks: [{ text: { text } }], attachments: [{ fallback: 'and <@bob>' }] })).toBe(
    `${text}\nand <@bob>`,
  )
  expect(textsOf({ text: 'x'.repeat(900_000) })).toHaveLength(100_000)
})
