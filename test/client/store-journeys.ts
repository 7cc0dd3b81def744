import 'fake-indexeddb/auto'
import {
  createClient,
  createSyncEngine,
  joinTabs,
  type Store,
  type SyncEngine,
  storeInIndexedDb,
  storeInMemory,
  tokensInMemory,
} from '@parley/client'
import type { Message } from '@parley/contract'
import { Person } from '@parley/test'
import { afterEach, expect, test } from 'vitest'
import { contentsOf } from './contents-of.ts'
import type { ClientServer } from './journeys.ts'

export function storeJourneys(server: ClientServer) {
  const { unique } = server
  const undo: (() => void)[] = []
  afterEach(() => {
    for (const each of undo.splice(0)) each()
  })

  /** One page: its engine, and the addresses of its requests. */
  function openPage(person: Person, options: { store?: Store; browser?: string } = {}) {
    const asked: string[] = []
    let hasEnded = false
    let cursorForServer: string | undefined
    const client = createClient({
      baseUrl: server.baseUrl,
      tokens: tokensInMemory({ accessToken: person.token!, refreshToken: person.refreshToken }),
      fetch(input, init) {
        const { pathname } = new URL(String(input))
        asked.push(`${init?.method ?? 'GET'} ${pathname}`)
        const headers = new Headers(init?.headers)
        if (cursorForServer !== undefined && headers.has('last-event-id')) headers.set('last-event-id', cursorForServer)
        return fetch(input, { ...init, headers })
      },
      // As a page does that no longer shows data of the person.
      onSignedOut: () => {
        hasEnded = true
        engine.close()
      },
    })
    const engine: SyncEngine = createSyncEngine({
      client,
      userId: person.id,
      ...(options.store && { store: options.store }),
      ...(options.browser && { store: storeInIndexedDb(options.browser), tabs: joinTabs(options.browser) }),
      onSignedOut: () => {
        hasEnded = true
      },
      onStoreFailed: (error) => {
        throw error
      },
    })
    undo.push(engine.close)
    return {
      engine,
      asked,
      request: client.request,
      /** Whether the page was notified of the end of the session. */
      hasEnded: () => hasEnded,
      /** The server does not know the cursor of the next connection. */
      loseCursor() {
        cursorForServer = 'of-another-epoch.7'
      },
      signOut: client.signOut,
      settled: () => expect.poll(() => engine.isSettled && engine.isConnected()).toBe(true),
    }
  }

  const newcomer = () => server.newcomer('p')

  test.each([
    ['in IndexedDB', () => storeInIndexedDb(unique('database'))],
    ['in memory', () => storeInMemory()],
  ])(
    'a start from a store %s shows what was there, resumes, and fetches nothing but presence',
    async (_, createStore) => {
      const { ann, bob } = server.people
      const channel = await ann.creates({ name: unique('kept') })
      await ann.says('before', channel)
      const store = createStore()
      const first = openPage(bob, { store })
      await first.engine.openMessages(channel.id)
      await first.settled()
      expect(await first.engine.save()).toBe(true)
      first.engine.close()

      await ann.says('meanwhile', channel)
      const second = openPage(bob, { store })
      await second.engine.ready
      expect(contentsOf(second.engine.messages(channel.id))?.[0]).toBe('before')
      expect(second.engine.channel(channel.id)?.name).toBe(channel.name)
      await expect.poll(() => contentsOf(second.engine.messages(channel.id))).toEqual(['before', 'meanwhile'])
      await second.engine.openMessages(channel.id)
      await second.settled()
      expect(second.engine.channel(channel.id)?.unreadCount).toBe(2)
      expect(new Set(second.asked)).toEqual(new Set(['GET /events', 'GET /presence']))
    },
  )

  test('a start with an unknown cursor fetches everything again', async () => {
    const { ann } = server.people
    const bob = await newcomer()
    const channel = await ann.creates({ name: unique('renamed') })
    const store = storeInIndexedDb(unique('database'))
    const first = openPage(bob, { store })
    await first.engine.openMessages(channel.id)
    await first.settled()
    await first.engine.save()
    first.engine.close()
    const { body } = await ann.put(`/channels/${channel.id}`, { name: unique('anew') })

    const second = openPage(bob, { store })
    second.loseCursor()
    await second.engine.ready
    await expect.poll(() => second.engine.channel(channel.id)?.name).toBe(body.channel.name)
    await second.settled()
    await second.engine.save()
    const { state, records } = (await store.load())!
    expect(state.cursor).toBe(second.engine.cursor)
    expect(records.channels.get(channel.id)).toMatchObject({ place: { name: body.channel.name } })
  })

  test('a store never has a record that is older than its cursor', async () => {
    const { ann } = server.people
    const bob = await newcomer()
    const channel = await ann.creates({ name: unique('written') })
    const store = storeInIndexedDb(unique('database'))
    const page = openPage(bob, { store })
    await page.engine.openMessages(channel.id)
    await page.settled()
    for (let n = 0; n < 10; n++) {
      const message = await ann.says(`${n}`, channel)
      await expect.poll(() => page.engine.message(channel.id, message.id)).toBeDefined()
      await page.engine.save()
      const { state, records } = (await store.load())!
      expect(state.cursor).toBe(page.engine.cursor)
      const { messages } = records.pages.get(channel.id) as { messages: Message[] }
      expect(messages).toEqual(page.engine.messages(channel.id))
    }
  })

  test('the data and the unsent messages of another person in a store are not shown', async () => {
    const { ann, bob, cat } = server.people
    const name = unique('database')
    const anns = openPage(ann, { store: storeInIndexedDb(name) })
    await anns.engine.ready
    await anns.settled()
    await anns.engine.save()
    anns.engine.close()
    const store = storeInIndexedDb(name)
    await store.putOutbox({
      id: crypto.randomUUID(),
      userId: ann.id,
      channelId: server.channel.general.id,
      body: { content: 'in the name of Ann' },
      createdAt: Date.now(),
      state: 'waiting',
    })
    const bobs = openPage(bob, { store })
    await bobs.engine.ready
    await bobs.settled()
    expect(bobs.engine.me().id).toBe(bob.id)
    expect(bobs.engine.outboxSize()).toBe(0)
    const { body } = await cat.get(`/channels/${server.channel.general.id}/messages`)
    expect(contentsOf(body.messages)).not.toContain('in the name of Ann')
  })

  test('signing out removes all stored data, in every tab', async () => {
    const dan = await newcomer()
    const browser = unique('browser')
    const pages = [openPage(dan, { browser }), openPage(dan, { browser })]
    for (const page of pages) await page.engine.ready
    await pages[0]!.settled()
    await pages[0]!.engine.save()
    const tabs = joinTabs(browser)
    undo.push(tabs.close)
    const heard: unknown[] = []
    tabs.listen('sync', (note) => void heard.push(note))
    await pages[1]!.engine.forget()
    await pages[1]!.signOut()
    await expect.poll(() => heard).toContainEqual({ kind: 'ended', what: 'everything' })
    const store = storeInIndexedDb(browser)
    undo.push(store.close)
    await expect.poll(async () => [await store.load(), await store.readOutbox()]).toEqual([undefined, []])
    expect((await dan.get('/auth/me')).status).toBe(401)
  })

  test('when a session ends by itself, the copies are removed in every tab, and the outbox stays', async () => {
    const { ann } = server.people
    const email = `${unique('p')}@example.com`
    const [gil, elsewhere] = [await Person.signIn(server.baseUrl, email), await Person.signIn(server.baseUrl, email)]
    const channel = await ann.creates({ name: unique('secret') })
    await ann.says('for members only', channel)
    const browser = unique('browser')
    const pages = [openPage(gil, { browser }), openPage(gil, { browser })]
    for (const page of pages) await page.engine.ready
    await pages[0]!.engine.openMessages(channel.id)
    await pages[1]!.engine.send({ channelId: 'nowhere', body: { content: 'typed' } })
    await expect.poll(() => pages[0]!.engine.outbox('nowhere')[0]?.state).toBe('failed')
    await pages[0]!.settled()
    await pages[0]!.engine.save()
    const store = storeInIndexedDb(browser)
    undo.push(store.close)
    expect((await store.load())?.records.pages.has(channel.id)).toBe(true)

    await elsewhere.delete('/auth/sessions', { refreshToken: elsewhere.refreshToken })
    for (const page of pages) await expect.poll(() => page.hasEnded()).toBe(true)
    await expect.poll(() => store.load()).toBeUndefined()
    expect(await store.readOutbox()).toMatchObject([{ body: { content: 'typed' } }])
  })

  test('a tab whose session has ended ends the other tabs, so that they do not write to the store that it removes', async () => {
    const email = `${unique('p')}@example.com`
    const [ivo, again] = [await Person.signIn(server.baseUrl, email), await Person.signIn(server.baseUrl, email)]
    const channel = await ivo.creates({ name: unique('secret') })
    const browser = unique('browser')
    const leading = openPage(ivo, { browser })
    await leading.engine.ready
    const following = openPage(again, { browser })
    await following.engine.ready
    await leading.settled()
    await leading.engine.save()
    const store = storeInIndexedDb(browser)
    undo.push(store.close)
    expect((await store.load())?.records.channels.has(channel.id)).toBe(true)

    await again.post('/auth/logout', { refreshToken: again.refreshToken })
    await expect(following.request('GET /auth/me')).rejects.toMatchObject({ status: 401 })
    await expect.poll(() => leading.hasEnded()).toBe(true)
    await expect.poll(() => store.load()).toBeUndefined()
    expect(await leading.engine.save()).toBe(false)
  })

  test('after another tab has wiped the store, it is written completely', async () => {
    const { ann } = server.people
    const dot = await newcomer()
    const [one, other] = [await ann.creates({ name: unique('one') }), await ann.creates({ name: unique('other') })]
    const store = storeInIndexedDb(unique('database'))
    const page = openPage(dot, { store })
    await page.settled()
    await page.engine.save()
    await store.wipe('copies')
    await ann.put(`/channels/${one.id}`, { topic: 'a change of one record' })
    await expect.poll(() => page.engine.channel(one.id)?.topic).toBe('a change of one record')
    expect(await page.engine.save()).toBe(true)
    const { records } = (await store.load())!
    expect([...records.channels.keys()]).toEqual(expect.arrayContaining([one.id, other.id]))
  })

  test('five tabs share one stream and one set of requests and have the same data; another tab leads when the first one is closed', async () => {
    const { ann } = server.people
    const eve = await newcomer()
    const channel = await ann.creates({ name: unique('tabs') })
    const browser = unique('browser')
    const pages = Array.from({ length: 5 }, () => openPage(eve, { browser }))
    for (const { engine } of pages) {
      await engine.ready
      await engine.openMessages(channel.id)
    }
    const asked = (what: string) => pages.flatMap((page) => page.asked).filter((each) => each === what).length
    expect([asked('GET /events'), asked('GET /channels'), asked('GET /users')]).toEqual([1, 1, 1])

    const said: string[] = []
    const say = async () => said.push((await ann.says(`no. ${said.length}`, channel)).content)
    await say()
    const shown = (from: number) => pages.slice(from).map(({ engine }) => contentsOf(engine.messages(channel.id)))
    await expect.poll(() => shown(0)).toEqual(Array(5).fill(said))
    const leader = pages.findIndex((page) => page.asked.includes('GET /events'))
    pages[leader]!.engine.close()
    pages.unshift(...pages.splice(leader, 1))
    await say()
    await say()
    await expect.poll(() => shown(1)).toEqual(Array(4).fill(said))
    expect([asked('GET /events'), asked('GET /channels'), asked('GET /users')]).toEqual([2, 1, 1])
  })

  test('tabs whose leader had to fetch everything again read it from the store', async () => {
    const { ann } = server.people
    const fay = await newcomer()
    const browser = unique('browser')
    const leading = openPage(fay, { browser })
    await leading.engine.ready
    const following = openPage(fay, { browser })
    await following.engine.ready
    const channel = await ann.creates({ name: unique('made') })
    await expect.poll(() => following.engine.channel(channel.id)).toBeDefined()
    const before = following.asked.length
    // A tab with an unknown cursor finds the leader's store.
    const late = openPage(fay, { browser })
    await late.engine.ready
    await expect.poll(() => late.engine.channel(channel.id)).toEqual(leading.engine.channel(channel.id))
    expect(following.asked.slice(before)).toEqual([])
    expect(late.asked.filter((what) => what !== 'GET /presence')).toEqual([])
  })
}
