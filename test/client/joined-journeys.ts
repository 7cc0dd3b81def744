import { createClient, createSyncEngine, type SyncEngine, tokensInMemory } from '@parley/client'
import type { WireEvent } from '@parley/contract'
import type { Person } from '@parley/test'
import { expect, onTestFinished, test } from 'vitest'
import { contentsOf } from './contents-of.ts'
import type { ClientServer } from './journeys.ts'

/** The copy of a client with `scope=joined`. */
export function joinedJourneys(server: ClientServer) {
  const { unique, newcomer } = server

  function openPage(
    person: Person,
    onEvent?: (event: WireEvent) => void,
    scope: 'all' | 'joined' = 'joined',
    before: (address: string) => Promise<void> = async () => {},
  ) {
    const asked: string[] = []
    const client = createClient({
      baseUrl: server.baseUrl,
      tokens: tokensInMemory({ accessToken: person.token!, refreshToken: person.refreshToken }),
      async fetch(input, init) {
        const { pathname, search } = new URL(String(input))
        asked.push(`${init?.method ?? 'GET'} ${pathname}${search}`)
        await before(pathname)
        return fetch(input, init)
      },
    })
    const engine: SyncEngine = createSyncEngine({ client, userId: person.id, scope, ...(onEvent && { onEvent }) })
    onTestFinished(engine.close)
    return { engine, asked, client }
  }

  test('only joined channels are listed; joining and leaving is followed on every device', async () => {
    const { ann } = server.people
    const lea = await newcomer('lea')
    const channel = await ann.creates({ name: unique('public') })
    const devices = [openPage(lea), openPage(lea)]
    for (const { engine } of devices) {
      await engine.ready
      expect(engine.channelIds()).not.toContain(channel.id)
    }
    await lea.post(`/channels/${channel.id}/join`)
    for (const { engine } of devices) await expect.poll(() => engine.channelIds()).toContain(channel.id)
    await ann.says('welcome', channel)
    for (const { engine } of devices) await expect.poll(() => engine.channel(channel.id)?.unreadCount).toBe(1)
    await lea.post(`/channels/${channel.id}/leave`)
    for (const { engine } of devices) await expect.poll(() => engine.channelIds()).not.toContain(channel.id)
  })

  test('the number of members changes when people join, leave or are removed, in joined and in watched channels', async () => {
    const { ada, ann } = server.people
    const [lea, kim] = [await newcomer('lea'), await newcomer('kim')]
    const joined = await ann.creates({ name: unique('public'), members: [lea.id, kim.id] })
    const secret = await ann.creates({ name: unique('secret'), isPrivate: true, members: [lea.id, kim.id] })
    const watched = await ann.creates({ name: unique('watched'), members: [kim.id] })
    const { engine } = openPage(lea)
    await engine.ready
    await engine.openMessages(watched.id)
    const counts = () => [joined, secret, watched].map(({ id }) => engine.channel(id)?.memberCount)
    expect(counts()).toEqual([3, 3, 2])
    await ada.delete(`/users/${kim.id}`)
    await expect.poll(counts).toEqual([2, 2, 1])
  })

  test('a change of the person’s own profile fetches nothing; another role fetches everything', async () => {
    const { ada, ann } = server.people
    const secret = await ann.creates({ name: unique('secret'), isPrivate: true })
    const oda = await newcomer('oda')
    const { engine, asked } = openPage(oda)
    await engine.ready
    const listings = () => asked.filter((address) => address === 'GET /channels?scope=joined&members=false').length
    const before = listings()
    const userName = unique('oda the ')
    await oda.put('/users/me', { userName })
    await expect.poll(() => engine.me().userName).toBe(userName)
    await expect.poll(() => engine.isSettled).toBe(true)
    expect(listings()).toBe(before)

    await ada.put(`/users/${oda.id}/role`, { role: 'admin' })
    await expect.poll(() => engine.me().isAdmin).toBe(true)
    await expect.poll(listings).toBeGreaterThan(before)
    await expect.poll(() => engine.isSettled).toBe(true)
    const asAdmin = listings()
    await engine.openMessages(secret.id)
    await ada.put(`/users/${oda.id}/role`, { role: 'member' })
    await expect.poll(() => engine.messages(secret.id)).toBeUndefined()
    await expect.poll(listings).toBeGreaterThan(asAdmin)
  })

  test('a mention of a group counts for its members, and they get the message even in a channel that they have not joined', async () => {
    const { ada, ann } = server.people
    const ola = await newcomer('ola')
    const { group } = (await ada.post('/groups', { handle: unique('crew'), name: 'Crew', members: [ola.id] })).body
    const own = await ann.creates({ name: unique('own'), members: [ola.id] })
    const other = await ann.creates({ name: unique('other') })
    const heard: string[] = []
    const { engine } = openPage(ola, ({ type, payload }) => void (type === 'NEW_MESSAGE' && heard.push(payload.id)))
    await engine.ready
    const said = await ann.says(`hello @${group.handle}`, own)
    await expect.poll(() => engine.channel(own.id)?.mentionCount).toBe(1)
    expect(engine.mentionsMe(said.mentions)).toBe(true)
    const elsewhere = await ann.says(`and @${group.handle}`, other)
    await expect.poll(() => heard).toContain(elsewhere.id)

    await ada.put(`/groups/${group.id}/members`, { remove: [ola.id] })
    await expect.poll(() => engine.channel(own.id)?.mentionCount).toBe(0)
    await ada.put(`/groups/${group.id}/members`, { add: [ola.id] })
    await expect.poll(() => engine.channel(own.id)?.mentionCount).toBe(1)
  })

  test('a guest sees the people of their channels, and no longer those of channels that they leave', async () => {
    const { ada, ann } = server.people
    const [gus, pat] = [await newcomer('gus'), await newcomer('pat')]
    for (const { id } of [gus, pat]) await ada.put(`/users/${id}/role`, { role: 'guest' })
    await ada.put(`/channels/${server.channel.general.id}`, { members: [ann.id] })
    const channel = await ann.creates({ name: unique('of guests'), members: [gus.id] })
    const { engine } = openPage(gus, undefined, 'all')
    await engine.ready
    expect(engine.user(pat.id)).toBeUndefined()
    await ann.put(`/channels/${channel.id}`, { members: [gus.id, pat.id] })
    await expect.poll(() => engine.user(pat.id)?.userName).toBe(pat.userName)
    await ann.put(`/channels/${channel.id}`, { members: [gus.id] })
    await expect.poll(() => engine.user(pat.id)).toBeUndefined()
  })

  test('the messages of the open channel wait only for the list of channels', async () => {
    const { ann } = server.people
    const ole = await newcomer('ole')
    const channel = await ann.creates({ name: unique('public') })
    await ole.post(`/channels/${channel.id}/join`)
    await ann.says('first', channel)
    const others = Promise.withResolvers<void>()
    const { engine } = openPage(ole, undefined, 'joined', async (address) => {
      if (address.startsWith('/conversations')) await others.promise
    })
    await engine.openMessages(channel.id)
    expect(contentsOf(engine.messages(channel.id))).toEqual(['first'])
    expect(engine.channelIds()).toContain(channel.id)
    expect(engine.isSettled).toBe(false)
    others.resolve()
    await engine.ready
    expect(engine.me().userName).toBe(ole.userName)
  })

  test('a public channel can be opened without joining it, and is watched until it is closed', async () => {
    const { ann, bob } = server.people
    const mia = await newcomer('mia')
    const channel = await ann.creates({ name: unique('public') })
    const before = await ann.says('before', channel)
    const { engine, asked } = openPage(mia)
    await engine.openMessages(channel.id)
    expect(contentsOf(engine.messages(channel.id))).toEqual(['before'])
    expect(engine.channel(channel.id)).toMatchObject({ name: channel.name, isMember: false })
    expect(engine.channelIds()).not.toContain(channel.id)
    await bob.says('live', channel)
    await ann.put(`/messages/${before.id}`, { content: 'changed' })
    await expect.poll(() => contentsOf(engine.messages(channel.id))).toEqual(['changed', 'live'])
    expect(asked.some((address) => address.startsWith('GET /events') && address.includes(channel.id))).toBe(true)

    engine.closePlace(channel.id)
    expect(engine.messages(channel.id)).toBeUndefined()
    expect(engine.channel(channel.id)).toBeUndefined()
  })

  test('a channel that is open without having been joined is removed when the role of the person does not allow it any more', async () => {
    const { ada, ann } = server.people
    const gus = await newcomer('gus')
    const channel = await ann.creates({ name: unique('public') })
    await ann.says('before', channel)
    const { engine } = openPage(gus)
    await engine.openMessages(channel.id)
    await ada.put(`/users/${gus.id}/role`, { role: 'guest' })
    await expect.poll(() => engine.channel(channel.id)).toBeUndefined()
    expect(engine.messages(channel.id)).toBeUndefined()
    await expect(engine.openMessages(channel.id)).rejects.toMatchObject({ status: 403 })
  })

  test('only requested people are fetched, many in one request, and their names stay up to date', async () => {
    const { ann, bob, cat } = server.people
    const nia = await newcomer('nia')
    const { engine, asked } = openPage(nia)
    await engine.ready
    await Promise.all([
      engine.loadUsers([ann.id, bob.id]),
      engine.loadUsers([cat.id, 'webhook:1']),
      engine.loadUsers([ann.id]),
    ])
    expect([ann, bob, cat].map(({ id }) => engine.user(id)?.id)).toEqual([ann.id, bob.id, cat.id])
    expect(asked.filter((address) => address.startsWith('GET /users'))).toHaveLength(1)
    const userName = unique('cat the ')
    await cat.put('/users/me', { userName })
    await expect.poll(() => engine.user(cat.id)?.userName).toBe(userName)

    await bob.put('/presence/me', { status: 'away' })
    onTestFinished(engine.showPresence([bob.id]))
    await expect.poll(() => engine.presenceOf(bob.id)?.status).toBe('away')
    expect(asked.filter((address) => /^GET \/(presence|users)$/.test(address))).toEqual([])
  })
}
