import { createClient, createSyncEngine, type SyncEngine, tokensInMemory } from '@parley/client'
import type { Message } from '@parley/contract'
import type { Person } from '@parley/test'
import { afterEach, describe, expect, test } from 'vitest'
import type { ClientServer } from './journeys.ts'

export function timelineJourneys(server: ClientServer) {
  const undo: (() => void)[] = []
  afterEach(() => {
    for (const each of undo.splice(0)) each()
  })

  function engineOf(person: Person): SyncEngine {
    const client = createClient({
      baseUrl: server.baseUrl,
      tokens: tokensInMemory({ accessToken: person.token!, refreshToken: person.refreshToken }),
    })
    const engine = createSyncEngine({ client, pageSize: 6 })
    undo.push(engine.close)
    return engine
  }

  let channels = 0

  async function channelWith(count: number, options: { isPrivate?: boolean; members?: string[] } = {}) {
    const { ann } = server.people
    const channel = await ann.creates({ name: `timeline ${++channels}`, ...options })
    const said: Message[] = []
    for (let n = 1; n <= count; n++) said.push(await ann.says(`${n}`, channel))
    return { channelId: channel.id, channel, said }
  }

  const numbersOf = (messages: readonly Message[] | undefined) => messages?.map(({ content }) => Number(content))
  const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, n) => from + n)

  describe('windows', () => {
    test('around a message grow in both directions until they meet the newest ones', async () => {
      const { channelId, channel, said } = await channelWith(40)
      const { ann, bob } = server.people
      const engine = engineOf(bob)
      await engine.openMessages(channelId)
      expect(numbersOf(engine.messages(channelId))).toEqual(range(35, 40))

      await engine.openAround(channelId, { id: said[19]!.id })
      const seq = 20
      const around = () => numbersOf(engine.messages(channelId, { seq }))
      expect(around()).toContain(20)
      expect([engine.hasOlder(channelId, { seq }), engine.hasNewer(channelId, { seq })]).toEqual([true, true])
      // New messages belong only to the newest part.
      await ann.says('41', channel)
      await expect.poll(() => numbersOf(engine.messages(channelId))?.at(-1)).toBe(41)
      expect(around()?.at(-1)).toBeLessThan(35)

      while (engine.hasNewer(channelId, { seq })) await engine.loadNewer(channelId, { seq })
      expect(around()?.at(-1)).toBe(41)
      expect(engine.messages(channelId)).toBe(engine.messages(channelId, { seq }))
      while (engine.hasOlder(channelId)) await engine.loadOlder(channelId)
      expect(numbersOf(engine.messages(channelId))).toEqual(range(1, 41))
    })

    test('keep up with changes and deletions, wherever they are', async () => {
      const { channelId, said } = await channelWith(30)
      const { ann, bob } = server.people
      const engine = engineOf(bob)
      await engine.openAround(channelId, { seq: 10 })
      const around = () => numbersOf(engine.messages(channelId, { seq: 10 }))
      await ann.put(`/messages/${said[9]!.id}`, { content: '1000' })
      await expect.poll(around).toContain(1000)
      await ann.delete(`/messages/${said[9]!.id}`)
      await expect.poll(around).not.toContain(1000)
      // Messages that were not fetched are not kept.
      expect(engine.messages(channelId)).toBeUndefined()
    })

    test('have a limited size, and forgotten messages are fetched again when they are needed', async () => {
      const { channelId, channel, said } = await channelWith(20)
      const { ann, bob } = server.people
      await ann.post(`/messages/${said[0]!.id}/pin`, {})
      const engine = engineOf(bob)
      await engine.openMessages(channelId)
      await engine.openPins(channelId)
      while (engine.hasOlder(channelId)) await engine.loadOlder(channelId)
      const shown = () => numbersOf(engine.messages(channelId))
      expect(shown()).toEqual(range(1, 20))

      engine.trimMessages(channelId, 20)
      expect(shown()).toEqual(range(1, 20))
      engine.trimMessages(channelId, 10)
      expect(shown()).toEqual(range(16, 20))
      expect(engine.hasOlder(channelId)).toBe(true)
      expect(engine.message(channelId, said[9]!.id)).toBeUndefined()
      // It is shown elsewhere.
      expect(numbersOf(engine.pins(channelId))).toEqual([1])

      // Changes of forgotten messages are not kept either.
      await ann.put(`/messages/${said[9]!.id}`, { content: '1000' })
      await ann.says('21', channel)
      await expect.poll(() => shown()?.at(-1)).toBe(21)
      expect(engine.message(channelId, said[9]!.id)).toBeUndefined()
      while (engine.hasOlder(channelId)) await engine.loadOlder(channelId)
      expect(shown()).toEqual([...range(1, 9), 1000, ...range(11, 21)])
    })

    test('of closed channels keep only the newest messages', async () => {
      const { channelId, channel, said } = await channelWith(1)
      const { ann, bob } = server.people
      const engine = engineOf(bob)
      await engine.openMessages(channelId)
      // A closed channel is dropped when the event of its creation comes. This message comes after it.
      await ann.says('2', channel)
      await expect.poll(() => engine.messages(channelId)?.at(-1)?.seq).toBe(2)
      engine.closePlace(channelId)
      for (let n = 3; n <= 210; n += 8) await Promise.all(range(n, n + 7).map((each) => ann.says(`${each}`, channel)))
      await expect.poll(() => engine.messages(channelId)?.at(-1)?.seq).toBe(210)
      expect(engine.messages(channelId)!.length).toBeLessThan(200)
      expect(engine.hasOlder(channelId)).toBe(true)
      expect(engine.message(channelId, said[0]!.id)).toBeUndefined()
    })

    test('begin at the first unread message', async () => {
      const { channelId } = await channelWith(30)
      const { bob } = server.people
      await bob.put(`/channels/${channelId}/read`, { seq: 12 })
      const engine = engineOf(bob)
      expect(await engine.openUnread(channelId)).toBe(13)
      expect(numbersOf(engine.messages(channelId, { seq: 13 }))).toEqual(expect.arrayContaining([12, 13]))
      await bob.put(`/channels/${channelId}/read`, { seq: 30 })
      await expect.poll(() => engine.channel(channelId)?.unreadCount).toBe(0)
      expect(await engine.openUnread(channelId)).toBeUndefined()
      expect(numbersOf(engine.messages(channelId))).toEqual(range(25, 30))
    })

    test('around a message of another channel are refused, and the rest of the channel is loaded', async () => {
      const { ann, bob } = server.people
      const { channelId, channel, said } = await channelWith(12, { isPrivate: true, members: [bob.id] })
      const parentId = said[0]!.id
      await ann.post(`/messages/${parentId}/thread`, { content: '1' })
      await ann.post(`/messages/${said[1]!.id}/pin`, {})
      const engine = engineOf(bob)
      const refused = { status: 400, code: 'invalid_cursor' }
      await expect(engine.openAround(channelId, { id: said[5]!.id }, parentId)).rejects.toMatchObject(refused)
      await expect(engine.openAround(channelId, { id: '999999999' })).rejects.toMatchObject(refused)

      await Promise.all([
        engine.openMessages(channelId),
        engine.openPins(channelId),
        engine.openThread(channelId, parentId),
        expect(engine.openAround(channelId, { id: 'nothing' }, said[2]!.id)).rejects.toMatchObject(refused),
      ])
      expect(numbersOf(engine.messages(channelId))).toEqual(range(7, 12))
      expect(numbersOf(engine.pins(channelId))).toEqual([2])
      expect(numbersOf(engine.messages(channelId, { parentId }))).toEqual([1])
      // Everything of the channel is fetched again.
      await ann.put(`/channels/${channelId}`, { removeMembers: [bob.id] })
      await expect.poll(() => engine.messages(channelId)).toBeUndefined()
      await ann.says('13', channel)
      await ann.put(`/channels/${channelId}`, { addMembers: [bob.id] })
      await expect.poll(() => numbersOf(engine.messages(channelId))).toEqual(range(8, 13))
    })

    test('of a thread load pages like those of a channel', async () => {
      const { channelId, said } = await channelWith(1)
      const { ann, bob } = server.people
      const parentId = said[0]!.id
      for (let n = 1; n <= 20; n++) await ann.post(`/messages/${parentId}/thread`, { content: `${n}` })
      const engine = engineOf(bob)
      await engine.openThread(channelId, parentId)
      expect(numbersOf(engine.messages(channelId, { parentId }))).toEqual(range(15, 20))
      expect(engine.message(channelId, parentId)?.threadMeta?.replyCount).toBe(20)
      await engine.openAround(channelId, { seq: 3 }, parentId)
      const spot = { parentId, seq: 3 }
      while (engine.hasNewer(channelId, spot)) await engine.loadNewer(channelId, spot)
      while (engine.hasOlder(channelId, spot)) await engine.loadOlder(channelId, spot)
      expect(numbersOf(engine.messages(channelId, { parentId }))).toEqual(range(1, 20))
    })
  })

  describe('keys', () => {
    /** Resolves when all previous events have arrived. */
    async function caughtUp(engine: SyncEngine) {
      const { general } = server.channel
      await engine.openMessages(general.id)
      const { id } = await server.people.ann.says('marker', general)
      await expect.poll(() => engine.message(general.id, id) && engine.isSettled).toBe(true)
    }

    /** The keys of all notifications of the engine until the change has arrived. */
    async function toldBy(engine: SyncEngine, keys: string[], act: () => Promise<unknown>, hasCome: () => boolean) {
      const told: string[] = []
      const ends = keys.map((key) => engine.subscribe(key, () => told.push(key)))
      await act()
      await expect.poll(hasCome).toBe(true)
      await new Promise<void>((resolve) => setImmediate(resolve))
      for (const end of ends) end()
      return told
    }

    test('a change of one message notifies only its own key, and everything else stays the same object', async () => {
      const { channelId, said } = await channelWith(5)
      const { ann, bob } = server.people
      const engine = engineOf(bob)
      await engine.openMessages(channelId)
      await bob.put(`/channels/${channelId}/read`, { seq: 5 })
      await expect.poll(() => engine.channel(channelId)?.unreadCount).toBe(0)
      await caughtUp(engine)
      const [, second, third] = said as [Message, Message, Message]
      const before = engine.messages(channelId)!
      const places = [
        engine.channels(),
        engine.conversations(),
        engine.users(),
        engine.totals(),
        engine.channel(channelId),
      ]
      const keys = [
        ...said.map(({ id }) => `message:${id}`),
        ...[`messages:${channelId}`, `pins:${channelId}`, `place:${channelId}`, `outbox:${channelId}`],
        ...['channels', 'conversations', 'users', 'unread', 'settings', 'me', 'outbox', 'presence', 'webhooks'],
      ]
      const isChanged = () => engine.message(channelId, second.id)?.content === 'changed'
      const told = await toldBy(
        engine,
        keys,
        () => ann.put(`/messages/${second.id}`, { content: 'changed' }),
        isChanged,
      )
      expect(told).toEqual([`message:${second.id}`])
      const after = engine.messages(channelId)!
      expect(after.map((message, n) => message === before[n])).toEqual([true, false, true, true, true])
      expect(engine.messages(channelId)).toBe(after)
      const now = [
        engine.channels(),
        engine.conversations(),
        engine.users(),
        engine.totals(),
        engine.channel(channelId),
      ]
      expect(now.map((each, n) => each === places[n])).toEqual([true, true, true, true, true])

      const isLiked = () => engine.message(channelId, third.id)?.reactions['+1'] !== undefined
      const react = () => ann.post(`/messages/${third.id}/reactions`, { reaction: '+1' })
      expect(await toldBy(engine, keys, react, isLiked)).toEqual([`message:${third.id}`])
    })

    test('a new message notifies the keys of its list, its read state and the totals; order and totals are right', async () => {
      const one = await channelWith(1)
      const { ann, bob } = server.people
      const engine = engineOf(bob)
      await engine.openMessages(one.channelId)
      await caughtUp(engine)
      const { unreadCount, mentionCount } = engine.totals()
      const keys = [`messages:${one.channelId}`, `place:${one.channelId}`, 'channels', 'unread']
      const hasCome = () => engine.totals().unreadCount > unreadCount
      const told = await toldBy(engine, keys, () => ann.says(`@${bob.userName}`, one.channel), hasCome)
      expect(told.sort()).toEqual([`messages:${one.channelId}`, `place:${one.channelId}`, 'unread'].sort())
      expect(engine.totals()).toMatchObject({ unreadCount: unreadCount + 1, mentionCount: mentionCount + 1 })
      const listed = [...engine.channels(), ...engine.conversations()]
      expect(engine.totals()).toEqual({
        unreadCount: listed.reduce((sum, item) => sum + item.unreadCount, 0),
        mentionCount: listed.reduce((sum, item) => sum + item.mentionCount, 0),
        unreadPlaces: listed.filter((item) => item.unreadCount > 0).length,
      })

      await ann.put(`/channels/${one.channelId}`, { name: `AAA ${Date.now()}` })
      await expect.poll(() => engine.channelIds()[0]).toBe(one.channelId)
      const names = engine.channels().map(({ name }) => name)
      expect(names).toEqual(names.toSorted(new Intl.Collator('en', { numeric: true }).compare))
    })

    test('a new name notifies the keys of the messages of that person, and no others', async () => {
      const { channelId, channel, said } = await channelWith(2)
      const { bob, cat } = server.people
      const mine = await cat.says('mine', channel)
      const engine = engineOf(bob)
      await engine.openMessages(channelId)
      await caughtUp(engine)
      const keys = [...said, mine].map(({ id }) => `message:${id}`)
      const rename = () => cat.put('/users/me', { userName: `cat the ${channels}` })
      const hasCome = () => engine.message(channelId, mine.id)?.author.userName === `cat the ${channels}`
      expect(await toldBy(engine, keys, rename, hasCome)).toEqual([`message:${mine.id}`])
    })
  })
}
