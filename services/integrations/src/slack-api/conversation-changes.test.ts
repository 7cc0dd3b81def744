import { randomUUID } from 'node:crypto'
import type { Person } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import type { WebClient } from '@slack/web-api'
import { beforeAll, describe, expect, test } from 'vitest'
import { createsBot } from '../bot.testing.ts'
import { slackClient, wordOf } from './slack-client.testing.ts'

const environment = testEnvironment()
const clientWith = (token: string | undefined) => slackClient(environment, token)
let bot: Person
/** The client of a bot, and of ann, who is a member. */
let slack: WebClient
let other: WebClient
beforeAll(async () => {
  bot = await createsBot(environment, 'incidents')
  slack = clientWith(bot.token)
  other = clientWith(environment.people.ann.token)
})

const creates = async (args: object = {}) =>
  (await slack.conversations.create({ name: `incident ${randomUUID()}`, ...args })).channel!
const membersOf = async (channel: string) => (await slack.conversations.members({ channel })).members
/** The whole response of a refused call. */
const refusalOf = (call: Promise<unknown>) =>
  call.then(
    () => 'ok',
    ({ data }) => data,
  )

describe('a bot', () => {
  test('creates a channel, of which it is the creator, as a person does', async () => {
    const { cat } = environment.people
    const name = `incident ${randomUUID()}`
    const { channel } = await slack.conversations.create({ name })
    expect(channel).toMatchObject({ name, is_private: false, is_member: true, num_members: 1, creator: bot.id })
    expect((await slack.conversations.info({ channel: channel!.id! })).channel).toEqual(channel)
    await environment.events.to(cat).toHave('NEW_CHANNEL', { id: channel!.id! })
    expect(await environment.auditLog({ action: 'channel.create', targetId: channel!.id! })).toMatchObject([
      { actorId: bot.id, metadata: { name, isPrivate: false } },
    ])

    const hidden = await creates({ is_private: true })
    expect(hidden).toMatchObject({ is_private: true, is_group: true })
    await environment.events.to(cat).neverHave('NEW_CHANNEL', { id: hidden.id! })
    expect(await wordOf(slack.conversations.create({ name: name.toUpperCase() }))).toBe('name_taken')
  })

  test('renames its channel and sets its topic', async () => {
    const { bob } = environment.people
    const { id: channel } = (await creates()) as { id: string }
    const name = `solved ${randomUUID()}`
    expect((await slack.conversations.rename({ channel, name })).channel).toMatchObject({ name, is_member: true })
    const topic = await slack.conversations.setTopic({ channel, topic: 'All is well' })
    expect(topic.channel).toMatchObject({ id: channel, name, topic: { value: 'All is well' } })
    await environment.events.to(bob).toHave('UPDATE_CHANNEL', { id: channel, topic: 'All is well' })
    const without = await slack.conversations.setTopic({ channel, topic: '' })
    expect(without.channel?.topic?.value).toBe('')

    const taken = await creates()
    const words = await Promise.all(
      [
        slack.conversations.rename({ channel, name: taken.name! }),
        slack.conversations.rename({ channel, name: '' }),
        slack.conversations.rename({ channel, name: 'x'.repeat(81) }),
        slack.conversations.rename({ channel, name: '\u202e' }),
        slack.apiCall('conversations.setTopic', { channel }),
        slack.conversations.setTopic({ channel, topic: 'x'.repeat(251) }),
      ].map(wordOf),
    )
    expect(words).toEqual([
      'name_taken',
      'invalid_name_required',
      'invalid_name_maxlength',
      'invalid_name',
      'invalid_arguments',
      'too_long',
    ])
  })

  test('invites several people, and is told who cannot be invited', async () => {
    const { ann, bob, cat } = environment.people
    const { id: channel } = (await creates({ is_private: true })) as { id: string }
    const invited = await slack.conversations.invite({ channel, users: `${ann.id},${bob.id}` })
    expect(invited.channel).toMatchObject({ id: channel, num_members: 3, is_member: true })
    await environment.events.to(ann).toHave('NEW_CHANNEL', { id: channel })

    const nobody = randomUUID()
    const errors = [
      { user: ann.id, ok: false, error: 'already_in_channel' },
      { user: nobody, ok: false, error: 'user_not_found' },
      { user: 'U0NOBODY', ok: false, error: 'user_not_found' },
      { user: bot.id, ok: false, error: 'cant_invite_self' },
    ]
    const users = [ann.id, cat.id, nobody, 'U0NOBODY', bot.id].join(',')
    const refused = await refusalOf(slack.conversations.invite({ channel, users }))
    expect(refused).toMatchObject({ ok: false, error: 'already_in_channel', errors })
    expect(await membersOf(channel)).not.toContain(cat.id)
    expect(await slack.conversations.invite({ channel, users, force: true })).toMatchObject({ ok: true, errors })
    expect(await membersOf(channel)).toContain(cat.id)
    expect(await wordOf(slack.conversations.invite({ channel, users: ann.id, force: true }))).toBe('already_in_channel')
    expect(await wordOf(slack.apiCall('conversations.invite', { channel }))).toBe('no_user')
    const many = Array.from({ length: 1_001 }, () => randomUUID()).join(',')
    expect(await wordOf(slack.conversations.invite({ channel, users: many }))).toBe('too_many_users')
  })

  test('removes people, but not the creator and not people of its groups', async () => {
    const { ada, ann, bob } = environment.people
    const { id: channel } = (await creates()) as { id: string }
    await slack.conversations.invite({ channel, users: bob.id })
    expect(await slack.conversations.kick({ channel, user: bob.id })).toMatchObject({ ok: true })
    expect(await membersOf(channel)).toEqual([bot.id])
    expect(await wordOf(slack.conversations.kick({ channel, user: bob.id }))).toBe('not_in_channel')
    expect(await wordOf(slack.conversations.kick({ channel, user: bot.id }))).toBe('cant_kick_self')
    expect(await wordOf(slack.conversations.kick({ channel, user: randomUUID() }))).toBe('user_not_found')
    const handle = `team-${randomUUID().slice(0, 8)}`
    const { group } = (await ada.post('/groups', { handle, name: handle, members: [ann.id] })).body
    expect(await ada.put(`/channels/${channel}`, { groups: [group.id] })).toMatchObject({ status: 200 })
    expect(await wordOf(slack.conversations.kick({ channel, user: ann.id }))).toBe('restricted_action')
    expect(await wordOf(other.conversations.leave({ channel }))).toBe('restricted_action')
    expect(await wordOf(clientWith(ada.token).conversations.kick({ channel, user: bot.id }))).toBe('restricted_action')
    expect(await membersOf(channel)).toEqual(expect.arrayContaining([ann.id, bot.id]))
  })

  test('leaves a channel', async () => {
    const { id: channel } = (await creates()) as { id: string }
    expect(await slack.conversations.leave({ channel })).not.toHaveProperty('not_in_channel')
    expect(await membersOf(channel)).toEqual([])
    expect(await slack.conversations.leave({ channel })).toMatchObject({ ok: true, not_in_channel: true })
    const { id: hidden } = (await creates({ is_private: true })) as { id: string }
    expect(await wordOf(slack.conversations.leave({ channel: hidden }))).toBe('ok')
    expect(await wordOf(slack.conversations.leave({ channel: hidden }))).toBe('channel_not_found')
  })
})

describe('others', () => {
  /** The words for four changes, one after the other. */
  const changes = async (client: WebClient, channel: string, user: string) => [
    await wordOf(client.conversations.rename({ channel, name: randomUUID() })),
    await wordOf(client.conversations.setTopic({ channel, topic: 'x' })),
    await wordOf(client.conversations.invite({ channel, users: user })),
    await wordOf(client.conversations.kick({ channel, user })),
  ]

  test('do not change a channel that somebody else created, and are not told who is in one that they cannot read', async () => {
    const { ann, bob, cat, ada } = environment.people
    const { id: open } = (await creates()) as { id: string }
    const restricted = ['not_authorized', 'restricted_action', 'restricted_action', 'restricted_action']
    expect(await changes(other, open, bob.id)).toEqual(restricted)
    const { id: hidden } = (await creates({ is_private: true })) as { id: string }
    await slack.conversations.invite({ channel: hidden, users: bob.id })
    const outside = Array(4).fill('not_in_channel')
    for (const user of [bob.id, cat.id]) expect(await changes(other, hidden, user)).toEqual(outside)
    expect(await wordOf(other.conversations.leave({ channel: hidden }))).toBe('channel_not_found')
    expect(await changes(slack, randomUUID(), bob.id)).toEqual(Array(4).fill('channel_not_found'))
    expect(await changes(clientWith(ada.token), hidden, cat.id)).toEqual(['ok', 'ok', 'ok', 'ok'])
    expect((await slack.conversations.info({ channel: open })).channel).toMatchObject({ topic: { value: '' } })

    const { channel } = await other.conversations.open({ users: bob.id })
    const unsupported = Array(4).fill('method_not_supported_for_channel_type')
    expect(await changes(other, channel!.id!, cat.id)).toEqual(unsupported)
    expect(await changes(clientWith(cat.token), channel!.id!, ann.id)).toEqual(outside)
  })

  test('change nothing with a token that may only read, and the refusal says which scopes there are', async () => {
    const { ann, bob } = environment.people
    const { id: channel } = await ann.creates({ name: randomUUID() })
    const { token } = (await ann.post('/auth/tokens', { name: 'reads', scopes: ['read'] })).body
    const reading = clientWith(token)
    expect(await changes(reading, channel, bob.id)).toEqual(Array(4).fill('missing_scope'))
    const refusals = await Promise.all(
      [
        reading.conversations.create({ name: randomUUID() }),
        reading.conversations.leave({ channel }),
        reading.chat.postEphemeral({ channel, user: bob.id, text: 'x' }),
      ].map(refusalOf),
    )
    const refusal = expect.objectContaining({ error: 'missing_scope', needed: 'write', provided: 'read' })
    expect(refusals).toEqual([refusal, refusal, refusal])
  })
})
