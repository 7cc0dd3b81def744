import 'fake-indexeddb/auto'
import {
  createClient,
  createSyncEngine,
  joinTabs,
  type SyncEngine,
  storeInIndexedDb,
  tokensInMemory,
} from '@parley/client'
import type { WireEvent } from '@parley/contract'
import type { Person } from '@parley/test'
import { expect, onTestFinished, test } from 'vitest'
import { contentsOf } from './contents-of.ts'
import type { ClientServer } from './journeys.ts'

/** A response that comes late does not undo what events have changed since the server sent it. */
export function lateResponseJourneys(server: ClientServer) {
  const { unique, newcomer } = server

  function openPage(person: Person, { browser, pageSize = 50 }: { browser?: string; pageSize?: number } = {}) {
    const events: WireEvent[] = []
    const asked: string[] = []
    let held: { request: RegExp; sent: () => void; released: Promise<void> } | undefined
    let cursorForServer: string | undefined
    let connection = new AbortController()
    const client = createClient({
      baseUrl: server.baseUrl,
      tokens: tokensInMemory({ accessToken: person.token!, refreshToken: person.refreshToken }),
      async fetch(input, init) {
        const { pathname, search } = new URL(String(input))
        const request = `${init?.method ?? 'GET'} ${pathname}${search}`
        asked.push(request)
        if (pathname !== '/events') {
          const response = await fetch(input, init)
          if (held?.request.test(request)) {
            held.sent()
            await held.released
          }
          return response
        }
        connection = new AbortController()
        const headers = new Headers(init?.headers)
        if (cursorForServer !== undefined && headers.has('last-event-id')) headers.set('last-event-id', cursorForServer)
        return fetch(input, { ...init, headers, signal: AbortSignal.any([init!.signal!, connection.signal]) })
      },
    })
    const engine: SyncEngine = createSyncEngine({
      client,
      userId: person.id,
      scope: 'joined',
      pageSize,
      onEvent: (event) => events.push(event),
      ...(browser && { store: storeInIndexedDb(browser), tabs: joinTabs(browser) }),
      onStoreFailed: (error) => {
        throw error
      },
    })
    onTestFinished(engine.close)
    return {
      engine,
      asked,
      /** Holds the responses to this request until `release` is called. `sent` resolves when the server has sent the first one. */
      hold(request: RegExp) {
        const [sent, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
        held = { request, sent: sent.resolve, released: released.promise }
        return {
          sent: sent.promise,
          release() {
            held = undefined
            released.resolve()
          },
        }
      },
      /** Resolves when an event of this type about this id has come. */
      heard: (type: WireEvent['type'], id: string) =>
        expect
          .poll(() => events.some((event) => event.type === type && 'id' in event.payload && event.payload.id === id))
          .toBe(true),
      /** The server does not know the cursor of the next connection, which begins now. */
      async reconnectWithoutCursor(meanwhile: () => Promise<unknown>) {
        cursorForServer = 'of-another-epoch.7'
        connection.abort()
        await expect.poll(() => engine.isConnected()).toBe(false)
        await meanwhile()
        engine.wake()
        await expect.poll(() => engine.isConnected()).toBe(true)
      },
      settled: () => expect.poll(() => engine.isSettled && engine.isConnected()).toBe(true),
    }
  }

  /** Changes a channel of Ann. Resolves when its event is on the streams, so that a new connection begins after it. */
  async function changes({ id }: { id: string }, body: object) {
    const { ann } = server.people
    const { engine, heard } = openPage(ann)
    await engine.ready
    await ann.put(`/channels/${id}`, body)
    await heard('UPDATE_CHANNEL', id)
  }

  test('the response of a send does not bring back a message that was deleted meanwhile', async () => {
    const { ann, bob } = server.people
    const channel = await ann.creates({ name: unique('late'), members: [bob.id] })
    const { engine, hold, heard, settled } = openPage(bob)
    await engine.openMessages(channel.id)
    await settled()
    const response = hold(/^POST .*\/messages$/)
    await engine.send({ channelId: channel.id, body: { content: 'gone' } })
    await response.sent
    await expect.poll(() => contentsOf(engine.messages(channel.id))).toEqual(['gone'])
    const { id } = engine.messages(channel.id)![0]!
    await bob.delete(`/messages/${id}`)
    await heard('DELETE_MESSAGE', id)
    expect(contentsOf(engine.messages(channel.id))).toEqual([])
    response.release()
    // The next message is sent after the response.
    await engine.send({ channelId: channel.id, body: { content: 'next' } })
    await expect.poll(() => contentsOf(engine.messages(channel.id))?.at(-1)).toBe('next')
    await expect.poll(() => engine.outboxSize()).toBe(0)
    expect(contentsOf(engine.messages(channel.id))).toEqual(['next'])
  })

  test('the data of a channel that the person looks at are of after the missed events', async () => {
    const { ann } = server.people
    const lea = await newcomer('lea')
    const channel = await ann.creates({ name: unique('watched') })
    const { engine, hold, reconnectWithoutCursor, settled } = openPage(lea)
    await engine.ready
    const response = hold(new RegExp(`^GET /channels/${channel.id}$`))
    const opened = engine.openMessages(channel.id)
    await response.sent
    const name = unique('renamed')
    await reconnectWithoutCursor(() => changes(channel, { name }))
    response.release()
    await opened
    await settled()
    expect(engine.channel(channel.id)?.name).toBe(name)
  })

  test('a response about a channel that was closed meanwhile is dropped', async () => {
    const { ann } = server.people
    const lea = await newcomer('lea')
    const channel = await ann.creates({ name: unique('closed') })
    const { engine, hold, settled } = openPage(lea)
    await engine.ready
    const response = hold(new RegExp(`^GET /channels/${channel.id}$`))
    const opened = engine.openMessages(channel.id)
    await response.sent
    engine.closePlace(channel.id)
    response.release()
    await opened
    await settled()
    expect(engine.channel(channel.id)).toBeUndefined()
  })

  test('a channel that is fetched again because of an event, and is closed meanwhile, does not come back', async () => {
    const { ann } = server.people
    const lea = await newcomer('lea')
    const channel = await ann.creates({ name: unique('closed') })
    const { id } = await ann.says('hello', channel)
    const { engine, hold, heard, settled } = openPage(lea)
    await engine.ready
    await engine.openMessages(channel.id)
    const response = hold(new RegExp(`^GET /channels/${channel.id}$`))
    await ann.put(`/messages/${id}`, { content: `hello @${lea.userName}` })
    await heard('UPDATE_MESSAGE', id)
    engine.closePlace(channel.id)
    await response.sent
    response.release()
    await settled()
    expect(engine.channel(channel.id)).toBeUndefined()
  })

  test('a refusal from before the person was added to a channel does not close it', async () => {
    const { ann } = server.people
    const lea = await newcomer('lea')
    const channel = await ann.creates({ name: unique('private'), isPrivate: true })
    await ann.says('welcome', channel)
    const { engine, hold, heard } = openPage(lea)
    await engine.ready
    const refusals = hold(new RegExp(`^GET /channels/${channel.id}`))
    const opened = engine.openMessages(channel.id)
    await refusals.sent
    await ann.put(`/channels/${channel.id}`, { addMembers: [lea.id] })
    await heard('NEW_CHANNEL', channel.id)
    refusals.release()
    await opened
    expect(contentsOf(engine.messages(channel.id))).toEqual(['welcome'])
  })

  test('an older page that comes after its neighbours were forgotten leaves no hole', async () => {
    const { ann, bob } = server.people
    const channel = await ann.creates({ name: unique('trimmed'), members: [bob.id] })
    for (let n = 1; n <= 12; n++) await ann.says(`${n}`, channel)
    const { engine, hold, heard, settled } = openPage(bob, { pageSize: 4 })
    await engine.openMessages(channel.id)
    // The messages are fetched again when the event of the new channel comes. This event comes after it.
    const { id } = engine.messages(channel.id)![3]!
    await ann.put(`/messages/${id}`, { content: '12' })
    await heard('UPDATE_MESSAGE', id)
    await settled()
    await engine.loadOlder(channel.id)
    const response = hold(/messages\?.*before=/)
    const loaded = engine.loadOlder(channel.id)
    await response.sent
    engine.trimMessages(channel.id, 5)
    expect(contentsOf(engine.messages(channel.id))).toEqual(['10', '11', '12'])
    response.release()
    await loaded
    while (engine.hasOlder(channel.id)) await engine.loadOlder(channel.id)
    expect(contentsOf(engine.messages(channel.id))).toEqual(Array.from({ length: 12 }, (_, n) => `${n + 1}`))
  })

  test('a tab that reads the data of the leading tab keeps the people and the channel that only it shows', async () => {
    const { ann } = server.people
    const lea = await newcomer('lea')
    const channel = await ann.creates({ name: unique('shown') })
    const browser = unique('browser')
    const leader = openPage(lea, { browser })
    await leader.engine.ready
    await leader.settled()
    const other = openPage(lea, { browser })
    await other.engine.ready
    await other.settled()
    await other.engine.openAround(channel.id, { seq: 1 })
    await other.engine.loadUsers([ann.id])
    // The leader cannot store its data before its list of channels has come.
    const response = leader.hold(/^GET \/channels\?scope=joined/)
    const topic = 'since the reconnect'
    await leader.reconnectWithoutCursor(() => changes(channel, { topic }))
    await response.sent
    await expect.poll(() => other.engine.user(ann.id)).toBeUndefined()
    await other.engine.loadUsers([ann.id])
    await expect.poll(() => other.engine.channel(channel.id)?.topic).toBe(topic)
    response.release()
    await leader.settled()
    await other.settled()
    expect(other.engine.channel(channel.id)?.topic).toBe(topic)
    expect(other.engine.user(ann.id)?.userName).toBe(ann.userName)
  })

  test.each(['removed from the group', 'deleted with the group'])(
    'mentions of a group are counted by one state of it: %s',
    async (ending) => {
      const { ada, ann } = server.people
      const lea = await newcomer('lea')
      const handle = unique('crew')
      const { group } = (await ada.post('/groups', { handle, name: 'Crew', members: [lea.id] })).body
      const channel = await ann.creates({ name: unique('mentions'), members: [lea.id] })
      await ann.says(`look, @${handle}`, channel)
      const { engine, hold, heard, settled } = openPage(lea)
      // The list of channels counts the mention. The groups of the person come later.
      const response = hold(/^GET \/channels\?scope=joined/)
      await response.sent
      if (ending === 'deleted with the group') {
        await ada.delete(`/groups/${group.id}`)
        await heard('DELETE_GROUP', group.id)
      } else {
        await ada.put(`/groups/${group.id}/members`, { remove: [lea.id] })
        await heard('UPDATE_GROUP', group.id)
      }
      response.release()
      await engine.ready
      await settled()
      expect(engine.channel(channel.id)).toMatchObject({ unreadCount: 1, mentionCount: 0 })
    },
  )
}
