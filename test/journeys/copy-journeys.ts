import { createClient, createSyncEngine, type Store, storeInMemory, tokensInMemory } from '@parley/client'
import type { Person } from '@parley/test'
import { expect, onTestFinished, test } from 'vitest'
import { describe } from '../copies/compare.ts'
import { tryCopies } from '../copies/trial.ts'
import type { TestServer } from '../src/test-server.ts'

/** For many more rounds run `node test/copies/run.ts`. */
const seeds = process.env.TEST_LONG ? [1, 2, 3, 4, 5, 6, 7, 8, 9, 10] : [1]
const steps = process.env.TEST_LONG ? 40 : 25

/** The copies of @parley/client, while all data changes. */
export function copyJourneys(server: TestServer) {
  test.each(seeds)(
    'a snapshot and the events after it equal a new snapshot, for all that a client shows (seed %i)',
    {
      timeout: 120_000,
    },
    async (seed) => {
      const { differences, reconnections } = await tryCopies(server, seed, steps)
      expect(differences.map(describe)).toEqual([])
      expect(reconnections).toBeGreaterThan(0)
    },
  )

  test('a client continues from its store on any replica, fetches nothing again, sends unsent messages, and reads pages', async () => {
    const [ann, bob] = [await server.newcomer('ann'), await server.newcomer('bob')]
    const channel = await ann.creates({ name: server.unique('kept'), members: [bob.id] })
    for (let n = 1; n <= 7; n++) await ann.says(`before ${n}`, channel)
    const store = storeInMemory()
    const contents = ({ engine }: Awaited<ReturnType<typeof openClient>>) =>
      engine.messages(channel.id)?.map(({ content }) => content)

    const first = await openClient(server, bob, store)
    await first.engine.openMessages(channel.id)
    expect(contents(first)).toEqual([3, 4, 5, 6, 7].map((n) => `before ${n}`))
    await expect.poll(() => first.engine.isSettled && first.engine.isConnected()).toBe(true)
    expect(await first.engine.save()).toBe(true)
    first.engine.close()
    await ann.says('meanwhile', channel)

    const second = await openClient(server, bob, store)
    await expect.poll(() => contents(second)?.at(-1)).toBe('meanwhile')
    expect(second.engine.channel(channel.id)).toMatchObject({ unreadCount: 8, memberCount: 2 })
    expect(new Set(second.asked)).toEqual(new Set(['GET /events']))
    await second.engine.send({ channelId: channel.id, body: { content: 'typed' } })
    await expect.poll(() => contents(second)?.at(-1)).toBe('typed')
    await expect.poll(() => second.engine.outboxSize()).toBe(0)
    await second.engine.loadOlder(channel.id)
    expect(contents(second)?.slice(0, 3)).toEqual(['before 1', 'before 2', 'before 3'])
    expect(second.engine.hasOlder(channel.id)).toBe(false)
  })

  test('a client that looks at a channel gets its messages again when the person lost it and is added again', async () => {
    const [ann, bob] = [await server.newcomer('ann'), await server.newcomer('bob')]
    const channel = await ann.creates({ name: server.unique('lost'), isPrivate: true, members: [bob.id] })
    await ann.says('before', channel)
    const { engine } = await openClient(server, bob, storeInMemory())
    const contents = () => engine.messages(channel.id)?.map(({ content }) => content)
    await engine.openMessages(channel.id)
    expect(contents()).toEqual(['before'])
    await ann.put(`/channels/${channel.id}`, { removeMembers: [bob.id] })
    await expect.poll(() => engine.channel(channel.id) === undefined && engine.isSettled).toBe(true)
    await ann.says('meanwhile', channel)
    await ann.put(`/channels/${channel.id}`, { addMembers: [bob.id] })
    await expect.poll(contents).toEqual(['before', 'meanwhile'])
  })
}

/** A client with `scope=joined`. `test/client` tests it in detail. */
async function openClient({ baseUrl }: TestServer, person: Person, store: Store) {
  const asked: string[] = []
  const client = createClient({
    baseUrl,
    tokens: tokensInMemory({ accessToken: person.token!, refreshToken: person.refreshToken }),
    fetch(input, init) {
      asked.push(`${init?.method ?? 'GET'} ${new URL(String(input)).pathname}`)
      return fetch(input, init)
    },
  })
  const engine = createSyncEngine({ client, store, scope: 'joined', userId: person.id, pageSize: 5 })
  onTestFinished(engine.close)
  await engine.ready
  return { engine, asked }
}
