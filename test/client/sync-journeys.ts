import { createClient, createSyncEngine, type StreamHandlers, type SyncEngine, tokensInMemory } from '@parley/client'
import type { Message } from '@parley/contract'
import { Person } from '@parley/test'
import { afterEach, expect, test } from 'vitest'
import type { ClientServer } from './journeys.ts'

/** Rare combinations of events. `test/copies` tests random ones. */
export function syncJourneys(server: ClientServer) {
  const undo: (() => void)[] = []
  afterEach(() => {
    for (const each of undo.splice(0)) each()
  })

  type Answer = () => Promise<Response>

  /** `meddle` is called for every request, and may delay or change its reply. */
  function copyOf(
    person: Person,
    meddle: (url: string, answer: Answer) => Promise<Response> = (_, answer) => answer(),
  ) {
    const connections: AbortController[] = []
    let losesCursor = false
    const heldBack: (() => void)[] = []
    let holdsBack = false
    let onChange = () => {}
    const client = createClient({
      baseUrl: server.baseUrl,
      tokens: tokensInMemory({ accessToken: person.token!, refreshToken: person.refreshToken }),
      retries: { times: 0 },
      async fetch(input, init) {
        if (!String(input).endsWith('/events')) return meddle(String(input), () => fetch(input, init))
        const connection = new AbortController()
        connections.push(connection)
        const headers = new Headers(init!.headers)
        if (losesCursor) headers.set('last-event-id', 'of-another-epoch.7')
        losesCursor = false
        return fetch(input, { ...init, headers, signal: AbortSignal.any([init!.signal!, connection.signal]) })
      },
    })
    const copy: SyncEngine = createSyncEngine({
      client,
      pageSize: 5,
      openStream: ({ onEvent, ...handlers }: StreamHandlers, options) =>
        client.openStream(
          {
            ...handlers,
            onEvent: (event) => (holdsBack ? heldBack.push(() => onEvent(event)) : onEvent(event)),
          },
          options,
        ),
      onChange: () => onChange(),
      onConnection: (isOpen) => isOpen || setImmediate(() => copy.wake()),
    })
    undo.push(copy.close)
    return {
      copy,
      /** Closes the connection, which is opened again automatically; with `lost`, without a cursor that the server knows. */
      cut({ lost = false } = {}) {
        losesCursor = lost
        connections.at(-1)!.abort()
      },
      /** Holds events back until the returned function is called. */
      holdEvents() {
        holdsBack = true
        return () => {
          holdsBack = false
          for (const hand of heldBack.splice(0)) hand()
        }
      },
      whenChanged(act: () => void) {
        onChange = act
      },
      settled: () => expect.poll(() => copy.isSettled, { timeout: 10_000 }).toBe(true),
    }
  }

  const idsOf = (messages: readonly Message[] | undefined) => messages?.map(({ id }) => id)
  const signIn = (name: string) => Person.signIn(server.baseUrl, `${name}@example.com`)

  let channels = 0

  async function channelWith(count: number, isPrivate = false) {
    const { ann } = server.people
    const channel = await ann.creates({ name: `channel ${++channels}`, isPrivate })
    const said: Message[] = []
    for (let n = 0; n < count; n++) said.push(await ann.says(`${n}`, channel))
    return { channel, said }
  }

  test('older messages that arrive after their channel was fetched again leave no gap', async () => {
    const { ann } = server.people
    const { channel } = await channelWith(12)
    const { promise: held, resolve: release } = Promise.withResolvers<void>()
    const { copy, cut, settled } = copyOf(ann, async (url, answer) => {
      if (url.includes('before=')) await held
      return answer()
    })
    const kept = () => copy.messages(channel.id)?.map(({ content }) => Number(content))
    await copy.ready
    await copy.openMessages(channel.id)
    const older = copy.loadOlder(channel.id)
    for (let n = 12; n < 30; n++) await ann.says(`${n}`, channel)
    await expect.poll(kept).toContain(29)
    cut({ lost: true })
    await expect.poll(kept, { timeout: 10_000 }).toEqual([25, 26, 27, 28, 29])
    await settled()
    release()
    await older
    await settled()
    expect(kept()).toEqual([25, 26, 27, 28, 29])

    await copy.loadOlder(channel.id)
    expect(kept()).toEqual([20, 21, 22, 23, 24, 25, 26, 27, 28, 29])
  })

  test('older messages can be read when all newer ones were deleted', async () => {
    const { ann } = server.people
    const { channel, said } = await channelWith(8)
    const { copy } = copyOf(ann)
    await copy.ready
    await copy.openMessages(channel.id)
    for (const { id } of said.slice(3)) await ann.delete(`/messages/${id}`)
    await expect.poll(() => copy.messages(channel.id)).toEqual([])
    expect(copy.hasOlder(channel.id)).toBe(true)
    await copy.loadOlder(channel.id)
    expect(idsOf(copy.messages(channel.id))).toEqual(idsOf(said.slice(0, 3)))
    expect(copy.hasOlder(channel.id)).toBe(false)
  })

  test('data that is requested in the same turn in which a fetch ends is fetched too', async () => {
    const { ann } = server.people
    const { channel, said } = await channelWith(8)
    await ann.post(`/messages/${said[0]!.id}/pin`)
    const pinned: (string[] | undefined)[] = []
    for (let turns = 0; turns < 12; turns++) {
      const { copy, whenChanged } = copyOf(ann)
      await copy.ready
      const { promise, resolve } = Promise.withResolvers<void>()
      whenChanged(async () => {
        if (!copy.messages(channel.id)?.length) return
        whenChanged(() => {})
        for (let turn = 0; turn < turns; turn++) await undefined
        resolve(copy.openPins(channel.id))
      })
      await copy.openMessages(channel.id)
      await promise
      // It is older than the newest page.
      pinned.push(idsOf(copy.pins(channel.id)))
    }
    expect(pinned).toEqual(Array(12).fill([said[0]!.id]))
  })

  test('a former admin keeps nothing of a private channel, even if a listing showed the change before the event', async () => {
    const { ada } = server.people
    const fay = await signIn('fay')
    await ada.put(`/users/${fay.id}/role`, { role: 'admin' })
    const { channel, said } = await channelWith(1, true)
    const { promise: held, resolve: release } = Promise.withResolvers<void>()
    let asked = 0
    const { copy, cut, holdEvents, settled } = copyOf(fay, async (url, answer) => {
      // She gets the messages as an admin, and the people after she has lost the role.
      if (url.endsWith('/users') && ++asked === 2) await held
      return answer()
    })
    await copy.ready
    await copy.openMessages(channel.id)
    cut({ lost: true })
    await expect.poll(() => asked, { timeout: 10_000 }).toBe(2)
    await expect.poll(() => idsOf(copy.messages(channel.id))).toEqual(idsOf(said))
    const handOver = holdEvents()
    await ada.put(`/users/${fay.id}/role`, { role: 'user' })
    release()
    await settled()
    handOver()
    await expect.poll(() => copy.messages(channel.id)).toBeUndefined()
    await settled()
    expect(copy.channels().map(({ id }) => id)).not.toContain(channel.id)
  })

  test('a person who was just added is listed as offline', async () => {
    const { ada, ann } = server.people
    const { copy } = copyOf(ann)
    await copy.ready
    const { body } = await ada.post('/users/add', { email: 'gus@example.com', role: 'user' })
    const gus = () => copy.presence().find(({ userId }) => userId === body.userId)
    await expect.poll(gus).toMatchObject({ status: 'offline' })
    const { presence } = (await ann.get('/presence')).body
    expect(presence).toContainEqual(gus())
  })

  test('presence is fetched after a reconnection, and again when that fails', async () => {
    const { ann, bob } = server.people
    await bob.put('/presence/me', { status: 'online' })
    let asked = 0
    const { copy, cut, holdEvents, settled } = copyOf(ann, (url, answer) => {
      if (!url.endsWith('/presence') || ++asked !== 2) return answer()
      return Promise.resolve(Response.json({ error: 'not now' }, { status: 503 }))
    })
    await copy.ready
    // There is no event for this, because presence events are not repeated.
    holdEvents()
    await bob.put('/presence/me', { status: 'away' })
    cut()
    await expect.poll(() => asked, { timeout: 10_000 }).toBe(3)
    await settled()
    expect(copy.presence().find(({ userId }) => userId === bob.id)).toMatchObject({ status: 'away' })
  })

  test('preferences follow their events, survive other changes of the channel, and are fetched after events were missed', async () => {
    const { ann } = server.people
    const kit = await signIn('kit')
    const { channel } = await channelWith(0)
    const { body } = await kit.post('/conversations', { targetUserId: ann.id })
    const { copy, cut, holdEvents, settled } = copyOf(kit)
    const flags = () =>
      [copy.channel(channel.id), copy.conversation(body.conversation.id)].map((place) => [
        place?.isMuted,
        place?.isFavourite,
        place?.notifiesOfAll,
      ])
    const set = (fields: object) => kit.put(`/channels/${channel.id}/preferences`, fields)
    await copy.ready
    await settled()
    expect(flags()).toEqual(Array(2).fill([false, false, false]))

    await set({ isMuted: true })
    await kit.put(`/conversations/${body.conversation.id}/preferences`, { isFavourite: true })
    const both = [
      [true, false, false],
      [false, true, false],
    ]
    await expect.poll(flags).toEqual(both)
    await ann.put(`/channels/${channel.id}`, { topic: 'another' })
    await expect.poll(() => copy.channel(channel.id)?.topic).toBe('another')
    expect(flags()).toEqual(both)

    holdEvents()
    await set({ isMuted: false, isFavourite: true, notifiesOfAll: true })
    cut({ lost: true })
    await expect.poll(flags).toEqual([
      [false, true, true],
      [false, true, false],
    ])
  })

  test('the totals have only the mentions of what is muted', async () => {
    const { ann } = server.people
    const lee = await signIn('lee')
    const { channel } = await channelWith(0)
    const { copy } = copyOf(lee)
    await copy.ready
    for (const content of ['one', 'two', `three @${lee.userName}`]) await ann.says(content, channel)
    await expect.poll(() => copy.channel(channel.id)).toMatchObject({ unreadCount: 3, mentionCount: 1 })
    const { unreadCount, mentionCount, unreadPlaces } = copy.totals()

    const muteAndExpect = async (isMuted: boolean, totals: object) => {
      await lee.put(`/channels/${channel.id}/preferences`, { isMuted })
      await expect.poll(() => copy.channel(channel.id)?.isMuted).toBe(isMuted)
      expect(copy.totals()).toEqual(totals)
    }
    await muteAndExpect(true, { unreadCount: unreadCount - 2, mentionCount, unreadPlaces })
    await lee.put(`/channels/${channel.id}/read`, { seq: 3 })
    const others = { unreadCount: unreadCount - 3, mentionCount: mentionCount - 1, unreadPlaces: unreadPlaces - 1 }
    await expect.poll(() => copy.totals()).toEqual(others)
    await ann.says('four', channel)
    await expect.poll(() => copy.channel(channel.id)?.unreadCount).toBe(1)
    expect(copy.totals()).toEqual(others)
    await muteAndExpect(false, { ...others, unreadCount: unreadCount - 2, unreadPlaces })
  })
}
