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

describe('the conversations methods for @slack/web-api', () => {
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
})
