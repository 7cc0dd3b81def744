import type { Channel, Message } from '@parley/contract'
import type { Person } from '@parley/test'
import { expect, test } from 'vitest'
import type { Stage } from './stage.ts'

export function restartJourneys(stage: Stage) {
  const history = async (person: Person, channel: Channel): Promise<Message[]> =>
    (await person.get(`/channels/${channel.id}/messages`)).body.messages

  const ways = [
    { way: 'stopped', end: () => stage.installation.stop() },
    { way: 'killed with all it started', end: () => stage.installation.killEverything() },
  ]

  test.each(ways)('everything acknowledged is there after it was $way', { timeout: 120_000 }, async ({ end }) => {
    const ann = await stage.newcomer('ann')
    const channel = await ann.creates({ name: stage.unique('kept') })
    const before = await ann.opensStream()
    const said = [await ann.says('heard', channel)]
    await before.waitFor('NEW_MESSAGE', { id: said[0]!.id })
    for (const content of ['one', 'two', 'three']) said.push(await ann.says(content, channel))
    await before.close()
    const cursor = before.cursor

    await end()
    await stage.installation.start()

    expect(await history(ann, channel)).toEqual(said)
    const resumed = await ann.opensStream(cursor)
    expect(resumed.connected.payload.resumed).toBe(true)
    said.push(await ann.says('after', channel))
    await resumed.waitFor('NEW_MESSAGE', { id: said.at(-1)!.id })
    expect(said.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5])
    const heard = resumed.all('NEW_MESSAGE').filter(({ channelId }) => channelId === channel.id)
    const already = before.all('NEW_MESSAGE').filter(({ channelId }) => channelId === channel.id)
    expect([...already, ...heard].map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5])
    await resumed.close()
  })
}
