import type { EventStream } from '@parley/test'
import { expect, test } from 'vitest'
import type { TestServer } from '../src/test-server.ts'

export function streamJourneys(server: TestServer) {
  const contents = (stream: EventStream, channel: { id: string }) =>
    stream
      .all('NEW_MESSAGE')
      .filter(({ channelId }) => channelId === channel.id)
      .map(({ content }) => content)

  test('a stream with a cursor delivers all missed events, in order, and then live events', async () => {
    const [ann, bob] = await Promise.all([server.newcomer('ann'), server.newcomer('bob')])
    const channel = await ann.creates({ name: server.unique('resume') })
    const first = await bob.opensStream()
    expect(first.connected.payload).toMatchObject({ userId: bob.id })
    await ann.says('0', channel)
    await first.waitFor('NEW_MESSAGE', { channelId: channel.id, content: '0' })
    await first.close()

    const missed = Array.from({ length: 25 }, (_, index) => String(index + 1))
    for (const content of missed) await ann.says(content, channel)

    // Several times, because a load balancer selects different nodes.
    for (let round = 0; round < 4; round++) {
      const again = await bob.opensStream(first.cursor)
      expect(again.connected.payload.resumed).toBe(true)
      await again.waitFor('NEW_MESSAGE', { channelId: channel.id, content: '25' })
      const live = `live ${round}`
      await ann.says(live, channel)
      await again.waitFor('NEW_MESSAGE', { channelId: channel.id, content: live })
      expect(contents(again, channel)).toEqual([
        ...missed,
        ...Array.from({ length: round + 1 }, (_, index) => `live ${index}`),
      ])
      await again.close()
    }
  })

  test('a cursor can be given in the query, and the one of CONNECTED is good as well', async () => {
    const ann = await server.newcomer('ann')
    const channel = await ann.creates({ name: server.unique('query') })
    const first = await ann.opensStream()
    const { cursor } = first.connected
    await first.close()
    const { id } = await ann.says('missed', channel)

    const again = await ann.opensStream(cursor)
    expect(again.connected.payload.resumed).toBe(true)
    await again.waitFor('NEW_MESSAGE', { id })
    await again.close()

    const response = await fetch(
      `${server.baseUrl}/events?token=${ann.token}&lastEventId=${encodeURIComponent(cursor!)}`,
    )
    let text = ''
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      text += chunk
      if (text.includes(id)) break
    }
    expect(text).toContain('"resumed":true')
    expect(text).toMatch(/^data: \{.*\}\nid: \S+\n\n/m)
  })

  test.each(['nonsense', 'abcdefabcdef:1', '-1', '0', '%', 'x'.repeat(3_000)])(
    'a cursor that nobody gave out (%s) is told to start anew, and the stream is live',
    async (cursor) => {
      const ann = await server.newcomer('ann')
      const stream = await ann.opensStream(cursor)
      expect(stream.connected.payload.resumed).toBe(false)
      const channel = await ann.creates({ name: server.unique('anew') })
      await stream.waitFor('NEW_CHANNEL', { id: channel.id })
      await stream.close()
    },
  )

  test('many streams of many people all get the same events in the same order', async () => {
    const people = await Promise.all(Array.from({ length: 10 }, () => server.newcomer('reader')))
    const streams = await Promise.all(people.flatMap((person) => [person.opensStream(), person.opensStream()]))
    const channel = await people[0]!.creates({ name: server.unique('many') })
    await Promise.all(
      people.map(async (person) => {
        for (let n = 0; n < 5; n++) await person.says(`${person.userName} ${n}`, channel)
      }),
    )
    const orders = await Promise.all(
      streams.map(async (stream) => {
        const heard = () =>
          stream.received.filter(({ type, payload }) => type === 'NEW_MESSAGE' && payload.channelId === channel.id)
        await stream.until(
          () => heard().length === 50,
          () => `${heard().length} of 50 came`,
        )
        return heard().map(({ cursor }) => cursor)
      }),
    )
    for (const order of orders) expect(order).toEqual(orders[0])
    await Promise.all(streams.map((stream) => stream.close()))
  })
}
