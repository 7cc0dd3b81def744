import 'fake-indexeddb/auto'
import {
  createClient,
  createSyncEngine,
  joinTabs,
  type OutboxEntry,
  type Store,
  type SyncEngine,
  storeInIndexedDb,
  tokensInMemory,
} from '@parley/client'
import type { Message } from '@parley/contract'
import { Person } from '@parley/test'
import { afterEach, expect, test } from 'vitest'
import type { ClientServer } from './journeys.ts'

export function outboxJourneys(server: ClientServer) {
  const { unique } = server
  const undo: (() => void)[] = []
  afterEach(() => {
    for (const each of undo.splice(0)) each()
  })

  type Meddle = (url: string, answer: () => Promise<Response>) => Promise<Response>

  /** One page. `meddle` is called for every request that sends a message. */
  function openPage(
    person: Person,
    database: string,
    meddle: Meddle = (_, answer) => answer(),
    store: Store = storeInIndexedDb(database),
  ) {
    const client = createClient({
      baseUrl: server.baseUrl,
      tokens: tokensInMemory({ accessToken: person.token!, refreshToken: person.refreshToken }),
      fetch: (input, init) => {
        const answer = () => fetch(input, init)
        return init?.method === 'POST' ? meddle(String(input), answer) : answer()
      },
    })
    const engine: SyncEngine = createSyncEngine({
      client,
      userId: person.id,
      store,
      tabs: joinTabs(database),
      onStoreFailed: (error) => {
        throw error
      },
    })
    undo.push(engine.close)
    return engine
  }

  const newChannel = () => server.people.ann.creates({ name: unique('outbox') })
  const saidIn = async (channelId: string): Promise<string[]> => {
    const { body } = await server.people.ann.get(`/channels/${channelId}/messages`)
    return body.messages.map(({ content }: Message) => content)
  }
  const stored = async (database: string): Promise<OutboxEntry[]> => {
    const store = storeInIndexedDb(database)
    try {
      return await store.readOutbox()
    } finally {
      store.close()
    }
  }

  test('a message is stored before it is sent, shown as sending, and removed when its event comes', async () => {
    const { bob } = server.people
    const channel = await newChannel()
    const database = unique('database')
    const sent = Promise.withResolvers<void>()
    const release = Promise.withResolvers<void>()
    const engine = openPage(bob, database, async (_, answer) => {
      sent.resolve()
      await release.promise
      return answer()
    })
    await engine.openMessages(channel.id)
    const entry = await engine.send({ channelId: channel.id, body: { content: 'hello' } })
    await sent.promise
    expect(await stored(database)).toMatchObject([{ id: entry.id, state: 'sending', body: { content: 'hello' } }])
    expect(engine.outbox(channel.id)).toMatchObject([{ id: entry.id, state: 'sending' }])
    release.resolve()
    await expect.poll(() => engine.outbox(channel.id)).toEqual([])
    // The event of the new channel may come late, and then the messages are fetched again.
    await expect.poll(() => engine.messages(channel.id)?.map(({ content }) => content)).toEqual(['hello'])
    expect(engine.messages(channel.id)![0]).not.toHaveProperty('nonce')
    await expect.poll(() => stored(database)).toEqual([])
  })

  test('one message of a conversation is sent at a time, in the order in which they were typed', async () => {
    const { bob } = server.people
    const channel = await newChannel()
    let underWay = 0
    let most = 0
    const engine = openPage(bob, unique('database'), async (_, answer) => {
      most = Math.max(most, ++underWay)
      return answer().finally(() => underWay--)
    })
    await engine.ready
    const typed = Array.from({ length: 12 }, (_, n) => `no. ${n}`)
    await Promise.all(typed.map((content) => engine.send({ channelId: channel.id, body: { content } })))
    await expect.poll(() => engine.outboxSize()).toBe(0)
    expect(await saidIn(channel.id)).toEqual(typed)
    expect(most).toBe(1)
  })

  test('a message that is queued just when the one before it has been sent is sent too', async () => {
    const { bob } = server.people
    for (let turns = 0; turns < 8; turns++) {
      const channel = await newChannel()
      const bot = createSyncEngine({
        client: createClient({
          baseUrl: server.baseUrl,
          tokens: tokensInMemory({ accessToken: bob.token!, refreshToken: bob.refreshToken }),
        }),
      })
      undo.push(bot.close)
      await bot.openMessages(channel.id)
      const answered = Promise.withResolvers<unknown>()
      const stop = bot.subscribe(`outbox:${channel.id}`, async () => {
        if (bot.outbox(channel.id).length > 0) return
        stop()
        for (let turn = 0; turn < turns; turn++) await null
        answered.resolve(bot.send({ channelId: channel.id, body: { content: 'second' } }))
      })
      await bot.send({ channelId: channel.id, body: { content: 'first' } })
      await answered.promise
      await expect.poll(() => bot.outboxSize()).toBe(0)
      expect(await saidIn(channel.id)).toEqual(['first', 'second'])
    }
  })

  test('unsent messages survive the page, and the next one sends them once, even if the response was lost', async () => {
    const { bob } = server.people
    const channel = await newChannel()
    const database = unique('database')
    const lost = Promise.withResolvers<void>()
    const first = openPage(bob, database, async (_, answer) => {
      await answer()
      lost.resolve()
      throw new TypeError('the connection broke')
    })
    await first.ready
    await first.send({ channelId: channel.id, body: { content: 'one' } })
    await first.send({ channelId: channel.id, body: { content: 'two' } })
    await lost.promise
    first.close()

    const second = openPage(bob, database)
    await second.ready
    await expect.poll(() => second.outboxSize()).toBe(0)
    await expect.poll(() => stored(database)).toEqual([])
    expect(await saidIn(channel.id)).toEqual(['one', 'two'])
  })

  test('a refused message is shown as failed with the reason, does not delay others, and can be sent again', async () => {
    const { ann, bob, cat } = server.people
    const { body } = await ann.post('/channels', { name: unique('closed'), isPrivate: true, members: [bob.id] })
    const channelId: string = body.channel.id
    const engine = openPage(cat, unique('database'))
    await engine.ready
    await engine.send({ channelId, body: { content: 'may I?' } })
    await engine.send({ channelId: server.channel.open.id, body: { content: 'I may here' } })
    await expect.poll(() => engine.outbox(channelId)[0]?.state).toBe('failed')
    expect(engine.outbox(channelId)[0]?.failure).toMatchObject({ code: 'forbidden', error: expect.any(String) })
    await expect.poll(() => engine.outbox(server.channel.open.id)).toEqual([])

    await ann.put(`/channels/${channelId}`, { members: [bob.id, cat.id] })
    await engine.retry(engine.outbox(channelId)[0]!.id)
    await expect.poll(() => engine.outboxSize()).toBe(0)
    expect(await saidIn(channelId)).toEqual(['may I?'])

    await engine.send({ channelId: 'nowhere', body: { content: 'to nobody' } })
    await expect.poll(() => engine.outbox('nowhere')[0]?.state).toBe('failed')
    await engine.discard(engine.outbox('nowhere')[0]!.id)
    expect(engine.outboxSize()).toBe(0)
  })

  test('a message whose key the server has forgotten is not retried automatically', async () => {
    const { bob } = server.people
    const channel = await newChannel()
    const database = unique('database')
    const store = storeInIndexedDb(database)
    await store.putOutbox({
      id: crypto.randomUUID(),
      userId: bob.id,
      channelId: channel.id,
      body: { content: 'the day before yesterday' },
      createdAt: Date.now() - 2 * 86_400_000,
      triedAt: Date.now() - 2 * 86_400_000,
      state: 'sending',
    })
    store.close()
    const engine = openPage(bob, database)
    await expect
      .poll(() => engine.outbox(channel.id)[0])
      .toMatchObject({ state: 'failed', failure: { code: 'too_old' } })
    expect(await saidIn(channel.id)).toEqual([])
  })

  test('a message is not lost when the page ends before the database has it, and an older version of it changes nothing', async () => {
    const database = unique('database')
    const kept = new Map<string, string>()
    const journal = {
      getItem: (key: string) => kept.get(key) ?? null,
      setItem: (key: string, value: string) => void kept.set(key, value),
      removeItem: (key: string) => void kept.delete(key),
      key: (index: number) => [...kept.keys()][index] ?? null,
      get length() {
        return kept.size
      },
    }
    // The page ends before the entry is removed from the journal.
    const ended = storeInIndexedDb(database, { ...journal, removeItem() {} })
    const entry: OutboxEntry = {
      id: crypto.randomUUID(),
      userId: server.people.bob.id,
      channelId: 'any',
      body: { content: 'in the last moment' },
      createdAt: Date.now(),
      state: 'waiting',
    }
    await ended.putOutbox(entry)
    await ended.removeFromOutbox(entry.id)
    ended.close()

    const next = storeInIndexedDb(database, journal)
    expect(await next.readOutbox()).toEqual([entry])
    expect(kept.size).toBe(0)
    await next.putOutbox({ ...entry, state: 'sending' })
    next.close()

    kept.set(`parley.outbox ${database} ${entry.id}`, JSON.stringify(entry))
    const third = storeInIndexedDb(database, journal)
    expect(await third.readOutbox()).toEqual([{ ...entry, state: 'sending' }])

    // A closed page has left an item in the journal, for the message that this page sends now.
    kept.set(`parley.outbox ${database} ${entry.id}`, JSON.stringify(entry))
    await third.removeFromOutbox(entry.id)
    expect(kept.size).toBe(0)
    third.close()

    kept.set(`parley.outbox ${database} unreadable`, 'no JSON')
    const fourth = storeInIndexedDb(database, journal)
    expect([await fourth.readOutbox(), kept.size]).toEqual([[], 0])
    await fourth.putOutbox(entry)
    kept.set(`parley.outbox ${database} ${entry.id}`, JSON.stringify(entry))
    await fourth.wipe('everything')
    expect([await fourth.readOutbox(), kept.size]).toEqual([[], 0])
    fourth.close()
  })

  test('one of several tabs sends the messages of all tabs, and each tab shows them', async () => {
    const gus = await Person.signIn(server.baseUrl, `${unique('gus')}@example.com`)
    const channel = await newChannel()
    const database = unique('database')
    const senders = new Set<number>()
    const release = Promise.withResolvers<void>()
    const tabs = [0, 1, 2].map((tab) =>
      openPage(gus, database, async (_, answer) => {
        senders.add(tab)
        await release.promise
        return answer()
      }),
    )
    for (const tab of tabs) await tab.ready
    for (const [n, tab] of tabs.entries()) {
      await tab.send({ channelId: channel.id, body: { content: `of tab ${n}` } })
      for (const each of tabs) await expect.poll(() => each.outbox(channel.id).length).toBe(n + 1)
    }
    release.resolve()
    for (const tab of tabs) await expect.poll(() => tab.outbox(channel.id)).toEqual([])
    expect(senders.size).toBe(1)
    expect(await saidIn(channel.id)).toEqual(['of tab 0', 'of tab 1', 'of tab 2'])
  })

  test('a tab shows that another one could not send its message, and does not send it again when it leads', async () => {
    const { bob } = server.people
    const database = unique('database')
    const release = Promise.withResolvers<void>()
    const asked: string[] = []
    const openTab = (name: string) =>
      openPage(bob, database, async (url, answer) => {
        if (url.includes('/nowhere/')) asked.push(name)
        await release.promise
        return answer()
      })
    const leading = openTab('leading')
    await leading.ready
    const following = openTab('following')
    await following.ready
    await following.send({ channelId: 'nowhere', body: { content: 'to nobody' } })
    await expect.poll(() => following.outbox('nowhere')[0]?.state).toBe('sending')
    release.resolve()
    const failed = [{ state: 'failed', failure: { error: expect.any(String) } }]
    await expect.poll(() => following.outbox('nowhere')).toMatchObject(failed)

    leading.close()
    await following.send({ channelId: server.channel.open.id, body: { content: 'I lead now' } })
    await expect.poll(() => following.outbox(server.channel.open.id)).toEqual([])
    expect(following.outbox('nowhere')).toMatchObject(failed)
    expect(asked).toEqual(['leading'])
  })

  test('a message that is sent again is neither lost nor sent twice, also when the outbox is being read meanwhile', async () => {
    const { ann, bob, cat } = server.people
    const { body } = await ann.post('/channels', { name: unique('closed'), isPrivate: true, members: [bob.id] })
    const channelId: string = body.channel.id
    const database = unique('database')
    const store = storeInIndexedDb(database)
    let release: (() => void) | undefined
    const reads = Promise.withResolvers<void>()
    const slowToAnswer = {
      ...store,
      async readOutbox() {
        const entries = await store.readOutbox()
        if (entries[0]?.state === 'failed' && !release) {
          const held = Promise.withResolvers<void>()
          release = held.resolve
          reads.resolve()
          await held.promise
        }
        return entries
      },
    }
    const engine = openPage(cat, database, undefined, slowToAnswer)
    await engine.ready
    await engine.send({ channelId, body: { content: 'may I now?' } })
    await expect.poll(() => engine.outbox(channelId)[0]?.state).toBe('failed')
    await expect.poll(() => stored(database)).toMatchObject([{ state: 'failed' }])
    await ann.put(`/channels/${channelId}`, { members: [bob.id, cat.id] })

    const other = joinTabs(database)
    undo.push(other.close)
    other.post('outbox', 'changed')
    await reads.promise
    const [failed] = engine.outbox(channelId)
    // A person who presses the button twice.
    const retried = [engine.retry(failed!.id), engine.retry(failed!.id)]
    await expect.poll(async () => (await stored(database)).map(({ state }) => state)).not.toEqual(['failed'])
    release!()
    await Promise.all(retried)
    await expect.poll(() => engine.outboxSize()).toBe(0)
    await expect.poll(() => stored(database)).toEqual([])
    expect(await saidIn(channelId)).toEqual(['may I now?'])
  })

  test('a message that two tabs send again at the same moment is sent once, and can be sent again after each refusal', async () => {
    const { ann, bob } = server.people
    // In this channel nobody else sends messages.
    const cat = await Person.signIn(server.baseUrl, `${unique('cat')}@example.com`)
    const { body } = await ann.post('/channels', { name: unique('closed'), isPrivate: true, members: [bob.id] })
    const channelId: string = body.channel.id
    const database = unique('database')
    const tabs = [openPage(cat, database), openPage(cat, database)]
    for (const tab of tabs) await tab.ready
    const allFailed = async () => {
      for (const tab of tabs)
        await expect.poll(() => tab.outbox(channelId).map(({ state }) => state)).toEqual(['failed'])
      return tabs[0]!.outbox(channelId)[0]!.id
    }
    await tabs[0]!.send({ channelId, body: { content: 'both of us' } })
    const first = await allFailed()
    await tabs[0]!.retry(first)
    const second = await allFailed()
    expect(second).not.toBe(first)

    await ann.put(`/channels/${channelId}`, { addMembers: [cat.id] })
    await Promise.all(tabs.map((tab) => tab.retry(second)))
    for (const tab of tabs) await expect.poll(() => tab.outboxSize()).toBe(0)
    await expect.poll(() => stored(database)).toEqual([])
    expect(await saidIn(channelId)).toEqual(['both of us'])
  })

  test('a message that is sent again is sent immediately, even when the refused one cannot be removed', async () => {
    const { ann, bob, cat } = server.people
    const { body } = await ann.post('/channels', { name: unique('closed'), isPrivate: true, members: [bob.id] })
    const channelId: string = body.channel.id
    const database = unique('database')
    const store = storeInIndexedDb(database)
    let isBroken = false
    const breaking: Store = {
      ...store,
      removeFromOutbox: async (id) =>
        isBroken ? Promise.reject(new Error('the disk broke')) : store.removeFromOutbox(id),
      async putOutbox(entry) {
        await store.putOutbox(entry)
        isBroken = entry.state === 'waiting' && entry.createdAt === failed?.createdAt
      },
    }
    const engine = openPage(cat, database, undefined, breaking)
    let failed: OutboxEntry | undefined
    await engine.ready
    await engine.send({ channelId, body: { content: 'once more' } })
    await expect.poll(() => engine.outbox(channelId)[0]?.state).toBe('failed')
    failed = engine.outbox(channelId)[0]!
    await ann.put(`/channels/${channelId}`, { addMembers: [cat.id] })
    await expect(engine.retry(failed.id)).rejects.toThrow('the disk broke')
    await expect.poll(() => saidIn(channelId)).toEqual(['once more'])
  })

  test('replies and direct messages are sent in the same way', async () => {
    const { ann, bob } = server.people
    const channel = await newChannel()
    const parent = await ann.says('who comes?', channel)
    const { body } = await bob.post('/conversations', { targetUserId: ann.id })
    const conversationId: string = body.conversation.id
    const engine = openPage(bob, unique('database'))
    await engine.openThread(channel.id, parent.id)
    await engine.openMessages(conversationId)
    await engine.send({ channelId: channel.id, parentId: parent.id, body: { content: 'I do' } })
    await engine.send({ channelId: conversationId, body: { content: 'and you?' } })
    await expect.poll(() => engine.outboxSize()).toBe(0)
    await expect
      .poll(() => engine.messages(channel.id, { parentId: parent.id })?.map(({ content }) => content))
      .toEqual(['I do'])
    await expect.poll(() => engine.messages(conversationId)?.map(({ content }) => content)).toEqual(['and you?'])
  })
}
