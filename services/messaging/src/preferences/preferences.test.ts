import type { ChannelPreferences } from '@parley/contract'
import { uuidv7 } from '@parley/database'
import { Person } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { describe, expect, test } from 'vitest'

const environment = testEnvironment()
let rounds = 0
const channelOf = (person: Person, more: object = {}) => person.creates({ name: `preferred ${++rounds}`, ...more })
const preferences = (isMuted: boolean, isFavourite: boolean, notifiesOfAll = false): ChannelPreferences => ({
  isMuted,
  isFavourite,
  notifiesOfAll,
})

/** The preferences in the listing and in the request for one channel or conversation. */
async function shownTo(person: Person, kind: 'channel' | 'conversation', id: string) {
  const listed = (await person.get(`/${kind}s`)).body[`${kind}s`].find((each: { id: string }) => each.id === id)
  const one = (await person.get(`/${kind}s/${id}`)).body[kind]
  return [listed, one].map(({ isMuted, isFavourite, notifiesOfAll }) => ({ isMuted, isFavourite, notifiesOfAll }))
}

const eventsAbout = async (id: string) => {
  const rows = await environment.deps.db
    .selectFrom('outbox')
    .select('event')
    .where('event', 'like', `%UPDATE_CHANNEL_PREFERENCES%${id}%`)
    .orderBy('id')
    .execute()
  return rows.map(({ event }) => JSON.parse(event!).payload)
}

const rowsOf = (channelId: string) =>
  environment.deps.db.selectFrom('channelPreferences').selectAll().where('channelId', '=', channelId).execute()

describe('PUT /channels/:channelId/preferences', () => {
  test('sets the given fields, shows them to this person alone, and sends an event to their streams alone', async () => {
    const { ann, bob } = environment.people
    const { id } = await channelOf(ann)
    const path = `/channels/${id}/preferences`
    expect(await shownTo(bob, 'channel', id)).toEqual([preferences(false, false), preferences(false, false)])

    const muted = { channelId: id, ...preferences(true, false) }
    expect(await bob.put(path, { isMuted: true })).toMatchObject({ status: 200, body: muted })
    await environment.events.to(bob).toHave('UPDATE_CHANNEL_PREFERENCES', muted)
    const both = { channelId: id, ...preferences(true, true) }
    expect((await bob.put(path, { isFavourite: true })).body).toEqual(both)
    await environment.events.to(bob).toHave('UPDATE_CHANNEL_PREFERENCES', both)
    expect(await shownTo(bob, 'channel', id)).toEqual([preferences(true, true), preferences(true, true)])

    expect(await shownTo(ann, 'channel', id)).toEqual([preferences(false, false), preferences(false, false)])
    await environment.events.to(ann).neverHave('UPDATE_CHANNEL_PREFERENCES', { channelId: id })
  })

  test('does not change the unread counts, and the events of the channel do not have preferences', async () => {
    const { ann, bob } = environment.people
    const { id } = await channelOf(ann)
    await bob.put(`/channels/${id}/preferences`, { isMuted: true })
    await ann.post(`/channels/${id}/messages`, { content: `hello @${bob.userName}` })
    const { channel } = (await bob.get(`/channels/${id}`)).body
    expect(channel).toMatchObject({ isMuted: true, unreadCount: 1, mentionCount: 1 })
    const { body } = await ann.put(`/channels/${id}`, { topic: 'anything' })
    expect(body.channel).not.toHaveProperty('isMuted')
    const updates = await environment.deps.db
      .selectFrom('outbox')
      .select('event')
      .where('event', 'like', `%UPDATE_CHANNEL"%${id}%`)
      .execute()
    expect(updates.length).toBeGreaterThan(0)
    for (const { event } of updates) expect(event).not.toContain('isMuted')
  })

  test('sends no event when nothing changes, and keeps no row when nothing is set', async () => {
    const { ann } = environment.people
    const { id } = await channelOf(ann)
    const set = async (body: object) => (await ann.put(`/channels/${id}/preferences`, body)).body
    const nothing = { channelId: id, ...preferences(false, false) }
    for (const body of [
      {},
      { isMuted: false },
      { isMuted: false, isFavourite: false },
      { isMuted: null },
      { notifiesOfAll: null },
    ]) {
      expect(await set(body)).toEqual(nothing)
    }
    expect([await eventsAbout(id), await rowsOf(id)]).toEqual([[], []])

    const favourite = { channelId: id, ...preferences(false, true) }
    for (const body of [{ isFavourite: true }, { isFavourite: true }, {}]) expect(await set(body)).toEqual(favourite)
    expect(await rowsOf(id)).toEqual([{ userId: ann.id, channelId: id, ...preferences(false, true) }])
    expect(await set({ isFavourite: false })).toEqual(nothing)
    expect(await eventsAbout(id)).toEqual([favourite, nothing])
    expect(await rowsOf(id)).toEqual([])
  })

  test('every message of a channel is chosen beside muting, and a client that knows only muting does not change it', async () => {
    const { ann } = environment.people
    const { id } = await channelOf(ann)
    const set = async (body: object) => (await ann.put(`/channels/${id}/preferences`, body)).body
    const steps: [body: object, after: ChannelPreferences][] = [
      [{ notifiesOfAll: true }, preferences(false, false, true)],
      [{ isMuted: true }, preferences(true, false, true)],
      [{ notifiesOfAll: null, isFavourite: true }, preferences(true, true, true)],
      [{ isMuted: false }, preferences(false, true, true)],
      [{ isMuted: false, isFavourite: false }, preferences(false, false, true)],
      [{ isMuted: true, notifiesOfAll: false }, preferences(true, false, false)],
      [{ isMuted: false, notifiesOfAll: true }, preferences(false, false, true)],
    ]
    for (const [body, after] of steps) {
      expect(await set(body)).toEqual({ channelId: id, ...after })
      expect(await shownTo(ann, 'channel', id)).toEqual([after, after])
    }
    expect(await eventsAbout(id)).toEqual(steps.map(([, after]) => ({ channelId: id, ...after })))
    expect(await rowsOf(id)).toHaveLength(1)
    await set({ notifiesOfAll: false })
    expect(await rowsOf(id)).toEqual([])
  })

  test('several requests at once lose nothing: the last event has all fields', async () => {
    const { ann } = environment.people
    for (let round = 0; round < 10; round++) {
      const { id } = await channelOf(ann)
      await Promise.all(
        [{ isMuted: true }, { isFavourite: true }, { notifiesOfAll: true }].map((body) =>
          ann.put(`/channels/${id}/preferences`, body),
        ),
      )
      expect((await shownTo(ann, 'channel', id))[0]).toEqual(preferences(true, true, true))
      expect((await eventsAbout(id)).at(-1)).toEqual({ channelId: id, ...preferences(true, true, true) })
    }
  })

  test.each([
    { isMuted: 1 },
    { isMuted: 'true' },
    { isFavourite: 0 },
    { notifiesOfAll: 'all' },
    { notifiesOfAll: 1 },
    [],
  ])('%j is refused', async (body) => {
    const { ann } = environment.people
    expect(await ann.put(`/channels/${environment.channel.open.id}/preferences`, body)).toMatchObject({ status: 400 })
  })

  test('is for those who may read the channel', async () => {
    const { ada, ann, bob, cat, nobody } = environment.people
    const path = `/channels/${environment.channel.secret.id}/preferences`
    const statuses = [ada, bob, cat, nobody].map(async (person) => (await person.put(path, { isMuted: true })).status)
    expect(await Promise.all(statuses)).toEqual([200, 200, 403, 401])
    for (const id of [uuidv7(), 'nonsense']) {
      expect(await ann.put(`/channels/${id}/preferences`, { isMuted: true })).toMatchObject({ status: 404 })
    }
  })
})

describe('PUT /conversations/:conversationId/preferences', () => {
  test('is for participants alone, each with their own', async () => {
    const { ada, ann, bob, nobody } = environment.people
    const { id } = (await ann.post('/conversations', { targetUserId: bob.id })).body.conversation
    const path = `/conversations/${id}/preferences`
    const answer = { channelId: id, ...preferences(true, false) }
    expect(await bob.put(path, { isMuted: true })).toMatchObject({ status: 200, body: answer })
    expect(await shownTo(bob, 'conversation', id)).toEqual([preferences(true, false), preferences(true, false)])
    expect(await shownTo(ann, 'conversation', id)).toEqual([preferences(false, false), preferences(false, false)])
    await environment.events.to(bob).toHave('UPDATE_CHANNEL_PREFERENCES', answer)
    await environment.events.to(ann).neverHave('UPDATE_CHANNEL_PREFERENCES', { channelId: id })

    expect(await ada.put(path, { isMuted: true })).toMatchObject({ status: 403 })
    expect(await nobody.put(path, { isMuted: true })).toMatchObject({ status: 401 })
    for (const wrong of [`/channels/${id}`, `/conversations/${environment.channel.open.id}`]) {
      expect(await bob.put(`${wrong}/preferences`, { isMuted: true })).toMatchObject({ status: 404 })
    }
  })
})

describe('a person who may read a channel again', () => {
  test.each([
    [
      'as a member',
      { isPrivate: true },
      async (ann: Person, id: string, bob: Person) => {
        await ann.put(`/channels/${id}`, { removeMembers: [bob.id] })
        return () => ann.put(`/channels/${id}`, { addMembers: [bob.id] })
      },
    ],
    [
      'as it becomes public',
      { isPrivate: false },
      async (ann: Person, id: string) => {
        await ann.put(`/channels/${id}`, { isPrivate: true })
        return () => ann.put(`/channels/${id}`, { isPrivate: false })
      },
    ],
  ] as const)('gets their preferences after NEW_CHANNEL, %s', async (_, { isPrivate }, lose) => {
    const { ann } = environment.people
    const bob = await Person.signIn(environment.baseUrl, `reader-${uuidv7()}@example.com`)
    const { id } = await channelOf(ann, { isPrivate, ...(isPrivate && { members: [bob.id] }) })
    await bob.put(`/channels/${id}/preferences`, { notifiesOfAll: true })
    const gain = await lose(ann, id, bob)
    expect(await eventsAbout(id)).toHaveLength(1)
    await gain()
    expect(await eventsAbout(id)).toEqual(Array(2).fill({ channelId: id, ...preferences(false, false, true) }))
    expect((await shownTo(bob, 'channel', id))[0]).toEqual(preferences(false, false, true))
  })
})
