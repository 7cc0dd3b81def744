import type { EventStream, Person } from '@parley/test'
import { expect, test } from 'vitest'
import type { TestServer } from '../src/test-server.ts'

/** More than `events.offlineSeconds`, on a machine that is busy. */
const offlinePatienceMs = 60_000

export function presenceJourneys(server: TestServer) {
  const statusesOf = async (people: readonly Person[], by: Person): Promise<string[]> => {
    const { presence } = (await by.get('/presence')).body
    const shown = new Map(presence.map(({ userId, status }: { userId: string; status: string }) => [userId, status]))
    return people.map(({ id }) => shown.get(id) as string)
  }
  const newcomers = (count: number) => Promise.all(Array.from({ length: count }, () => server.newcomer('here')))

  test('a person with a new stream is online at once, on any node, and a status set by hand is shown', async () => {
    const [ann, bob] = (await newcomers(2)) as [Person, Person]
    const toBob = await bob.opensStream()
    expect(await statusesOf([ann], bob)).toEqual(['offline'])
    const streams = [await ann.opensStream(), await ann.opensStream()]
    expect(await statusesOf([ann], bob)).toEqual(['online'])
    await toBob.waitFor('PRESENCE_UPDATE', { userId: ann.id, status: 'online' })
    expect(await ann.put('/presence/me', { status: 'away' })).toMatchObject({ status: 200 })
    expect(await statusesOf([ann], bob)).toEqual(['away'])
    await toBob.waitFor('PRESENCE_UPDATE', { userId: ann.id, status: 'away' })
    await Promise.all([...streams, toBob].map((stream) => stream.close()))
  })

  test('people of a killed node who do not reconnect are offline for the others; those on another node are not', {
    timeout: 120_000,
  }, async () => {
    const { installation } = server
    const people = await newcomers(6)
    const streams = await Promise.all(people.map((person) => person.opensStream()))
    const lost = new Set<EventStream>()
    for (const stream of streams) void stream.ended.then(() => lost.add(stream))
    expect(await statusesOf(people, people[0]!)).toEqual(people.map(() => 'online'))

    if (installation.topology === 'solo') {
      await installation.killEverything()
      await Promise.all(streams.map(({ ended }) => ended))
      await installation.start()
    } else await installation.kill('realtime', 'SIGKILL')
    await Promise.race(streams.map(({ ended }) => ended))

    const expected = () => streams.map((stream) => (lost.has(stream) ? 'offline' : 'online'))
    await expect
      .poll(async () => (await statusesOf(people, people[0]!)).join() === expected().join(), {
        timeout: offlinePatienceMs,
        interval: 200,
      })
      .toBe(true)
    const [gone, there] = [true, false].map((isLost) => streams.filter((stream) => lost.has(stream) === isLost))
    expect(gone!.length).toBeGreaterThan(0)
    if (installation.topology === 'cluster') expect(there!.length).toBeGreaterThan(0)
    for (const stream of there!) {
      for (const other of gone!) {
        const { id } = people[streams.indexOf(other)]!
        await stream.waitFor('PRESENCE_UPDATE', { userId: id, status: 'offline' })
      }
    }
    await Promise.all(there!.map((stream) => stream.close()))
  })
}
