import { testEnvironment } from '@parley/test/test-environment'
import type { Block, MessageAttachment, WebClient } from '@slack/web-api'
import { beforeAll, describe, expect, test } from 'vitest'
import { slackClient } from './slack-client.testing.ts'

const environment = testEnvironment()
let slack: WebClient
let channel: string
beforeAll(() => {
  slack = slackClient(environment, environment.people.ann.token)
  channel = environment.channel.open.id
})

const section = (text: string) => ({ type: 'section' as const, text: { type: 'mrkdwn' as const, text } })
const bar = (text: string, more: object = {}) => ({ color: '#2eb67d', text, ...more })
const attachment = (text: string) => ({ type: 'attachment', color: '#2eb67d', blocks: [section(text)] })

interface Content {
  text?: string
  markdown_text?: string
  blocks?: Block[]
  attachments?: MessageAttachment[]
}

/** Posts a message, changes it, and returns it as people see it. */
async function changed(before: Content, change: Content) {
  const { ts } = await slack.chat.postMessage({ channel, ...before } as Parameters<typeof slack.chat.postMessage>[0])
  await slack.chat.update({ channel, ts: ts!, ...change } as Parameters<typeof slack.chat.update>[0])
  const { messages } = (await environment.people.ann.get(`/channels/${channel}/messages`)).body
  const { content, blocks } = messages.at(-1)
  return { content, blocks }
}

describe('markdown_text', () => {
  const markdown_text = '# Build 7\n*done* by **ann**'
  const content = '**Build 7**\n_done_ by **ann**'

  test('is shown as Markdown, in chat.postMessage and chat.update', async () => {
    expect(await changed({ markdown_text }, { markdown_text: '__again__' })).toEqual({
      content: '**again**',
      blocks: [],
    })
    expect(await changed({ text: 'before' }, { markdown_text })).toEqual({ content, blocks: [] })
    const before = { blocks: [section('running')], attachments: [bar('log')] }
    expect((await changed(before, { markdown_text: '*done*' })).blocks).toEqual([section('_done_'), attachment('log')])
  })

  test('is refused beside a text or blocks, and when it is too long', async () => {
    const errorOf = async (content: Content) => {
      const { ok, error } = await slack.apiCall('chat.postMessage', { channel, ...content }).catch(({ data }) => data)
      return ok ? 'ok' : error
    }
    expect(await errorOf({ markdown_text, text: 'x' })).toBe('markdown_text_conflict')
    expect(await errorOf({ markdown_text, blocks: [section('x')] })).toBe('markdown_text_conflict')
    expect(await errorOf({ markdown_text: 'x'.repeat(12_001) })).toBe('msg_too_long')
    expect(await errorOf({ markdown_text: 'x'.repeat(12_000) })).toBe('ok')
    expect(await errorOf({ markdown_text: '' })).toBe('no_text')
  })
})

test('a block of type markdown is shown as Markdown, in sections', async () => {
  const { ann } = environment.people
  const blocksOf = async (text: string) => {
    const { ok } = await slack.apiCall('chat.postMessage', { channel, blocks: [{ type: 'markdown', text }] })
    expect(ok).toBe(true)
    return (await ann.get(`/channels/${channel}/messages`)).body.messages.at(-1).blocks
  }
  expect(await blocksOf(`# Build 7\n*done* by <@${ann.id}>\n[log](https://x.example/1)`)).toEqual([
    section(`**Build 7**\n_done_ by @${ann.userName}\n[log](https://x.example/1)`),
  ])
  const code = Array(300).fill('const answer = 42').join('\n')
  const parts = (await blocksOf(`\`\`\`js\n${code}\n\`\`\``)).map(({ text }: { text: { text: string } }) => text.text)
  expect(parts).toHaveLength(2)
  for (const part of parts) expect(part).toMatch(/^```js\n(?:const answer = 42\n)+```$/)
})

describe('chat.update', () => {
  test('with a text alone, keeps the attachments, and removes the blocks', async () => {
    expect(await changed({ text: 'build 7', attachments: [bar('log of 7')] }, { text: 'build 7 passed' })).toEqual({
      content: 'build 7 passed\nlog of 7',
      blocks: [section('build 7 passed'), attachment('log of 7')],
    })
    expect(await changed({ text: 'for lists', blocks: [section('shown')] }, { text: 'only text' })).toEqual({
      content: 'only text',
      blocks: [],
    })
    const both = { blocks: [section('shown')], attachments: [bar('log')] }
    expect((await changed(both, { text: '' })).blocks).toEqual([attachment('log')])
  })

  test('with blocks alone, keeps the attachments and replaces the blocks', async () => {
    const before = { blocks: [section('running')], attachments: [bar('log')] }
    expect(await changed(before, { blocks: [section('passed')] })).toEqual({
      content: 'passed\nlog',
      blocks: [section('passed'), attachment('log')],
    })
  })

  test('with attachments alone, keeps the text and the blocks, and replaces the attachments with their pretexts', async () => {
    const attachments = [bar('log of 8')]
    expect((await changed({ text: 'build' }, { attachments })).blocks).toEqual([
      section('build'),
      attachment('log of 8'),
    ])
    const withText = { text: 'build', attachments: [bar('log of 7', { pretext: 'about 7' })] }
    expect(await changed(withText, { attachments: [bar('log of 8', { pretext: 'about 8' })] })).toEqual({
      content: 'build\nabout 8\nlog of 8',
      blocks: [section('build'), expect.objectContaining(section('about 8')), attachment('log of 8')],
    })
    expect(await changed({ text: 'summary', blocks: [section('shown')] }, { attachments })).toEqual({
      content: 'summary\nshown\nlog of 8',
      blocks: [section('shown'), attachment('log of 8')],
    })
  })

  test('an empty list removes attachments and blocks', async () => {
    const before = { text: 'build', attachments: [bar('log')] }
    expect(await changed(before, { text: 'done', attachments: [] })).toEqual({ content: 'done', blocks: [] })
    expect((await changed(before, { attachments: [] })).blocks).toEqual([section('build')])
    const both = { blocks: [section('shown')], attachments: [bar('log')] }
    expect((await changed(both, { blocks: [] })).blocks).toEqual([attachment('log')])
    await expect(changed(both, { blocks: [], attachments: [] })).rejects.toThrow('no_text')
  })

  test('without text, blocks and attachments is refused', async () => {
    await expect(changed({ text: 'build', attachments: [bar('log')] }, {})).rejects.toThrow('no_text')
  })
})
