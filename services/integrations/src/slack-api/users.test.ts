import { Person } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import type { WebClient } from '@slack/web-api'
import { sql } from 'kysely'
import { beforeAll, describe, expect, test } from 'vitest'
import { slackClient, wordOf } from './slack-client.testing.ts'

const environment = testEnvironment()
const clientWith = (token: string | undefined) => slackClient(environment, token)
let slack: WebClient
beforeAll(() => {
  slack = slackClient(environment, environment.people.ann.token)
})

describe('the users methods for @slack/web-api', () => {
  test('finds people by their address', async () => {
    const { bob } = environment.people
    const { user } = await slack.users.lookupByEmail({ email: 'BOB@example.com' })
    expect(user).toMatchObject({ id: bob.id, name: bob.userName })
    expect(await wordOf(slack.users.lookupByEmail({ email: 'bob@example' }))).toBe('users_not_found')
  })

  test('lists a thousand people without a limit', async () => {
    await sql`
      insert into users (id, user_name, user_name_key, user_name_skeleton, email, auto_joined, created_at)
      select gen_random_uuid(), name, name, name, name || '@example.org', true, 1
      from (select 'one of many ' || n as name from generate_series(1, 1000) n) names`.execute(environment.deps.db)
    const first = await slack.users.list({})
    expect(first.members).toHaveLength(1_000)
    const { members } = await slack.users.list({ cursor: first.response_metadata!.next_cursor! })
    expect(members!.length).toBeGreaterThan(0)
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

  test('a person is active while they are online', async () => {
    const { ann, bob, cat } = environment.people
    const presence = async (args: { user?: string }) => (await slack.users.getPresence(args as never)).presence
    await ann.put('/presence/me', { status: 'online' })
    await bob.put('/presence/me', { status: 'away' })
    await cat.put('/presence/me', { status: 'offline' })
    expect(await presence({})).toBe('active')
    expect([await presence({ user: bob.id }), await presence({ user: cat.id })]).toEqual(['away', 'away'])
    expect(await wordOf(slack.users.getPresence({ user: crypto.randomUUID() }))).toBe('user_not_found')
  })

  test('guests are recognised', async () => {
    const { ada, bob } = environment.people
    const { userId } = (await ada.post('/users/add', { email: 'guest@example.com', role: 'guest' })).body
    expect((await slack.users.info({ user: userId })).user).toMatchObject({ is_restricted: true, is_admin: false })
    expect((await slack.users.info({ user: bob.id })).user).toMatchObject({ is_restricted: false })
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
})
