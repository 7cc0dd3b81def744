import { randomUUID } from 'node:crypto'
import type { Message } from '@parley/contract'
import type { Person } from '@parley/test'
import { expect, test } from 'vitest'
import type { TestServer } from '../src/test-server.ts'

export function repetitionJourneys(server: TestServer) {
  test('a request repeated with its Idempotency-Key gets the first answer and stores nothing', async () => {
    const [ann, bob] = await Promise.all([server.newcomer('ann'), server.newcomer('bob')])
    const channel = await ann.creates({ name: server.unique('once') })
    const key = { 'idempotency-key': randomUUID() }
    const path = `/channels/${channel.id}/messages`

    const first = await ann.post(path, { content: 'once' }, key)
    const repeats = await Promise.all(Array.from({ length: 5 }, () => ann.post(path, { content: 'once' }, key)))
    for (const repeat of repeats) expect(repeat).toMatchObject({ status: 200, body: first.body })
    expect((await ann.post(path, { content: 'twice' }, key)).status).toBe(400)
    // Keys belong to their owners: the same key of another person is a different key.
    expect((await bob.post(path, { content: 'once' }, key)).body.message).toMatchObject({ seq: 2 })
    expect((await ann.get(path)).body.messages.map(({ seq }: Message) => seq)).toEqual([1, 2])
  })

  test('the same key sent many times at once stores one message', async () => {
    const ann = await server.newcomer('ann')
    const channel = await ann.creates({ name: server.unique('race') })
    const key = { 'idempotency-key': randomUUID() }
    const path = `/channels/${channel.id}/messages`

    const responses = await Promise.all(Array.from({ length: 30 }, () => ann.post(path, { content: 'me' }, key)))
    const answered = responses.filter(({ status }) => status === 200)
    expect(responses.filter(({ status }) => status !== 200 && status !== 409)).toEqual([])
    expect(new Set(answered.map(({ body }) => body.message.id)).size).toBe(1)
    const { messages } = (await ann.get(path)).body
    expect(messages).toEqual([answered[0]!.body.message])
    expect((await ann.says('next', channel)).seq).toBe(2)
  })

  test('a hundred concurrent sends to one channel get numbers without gaps, and everyone receives them in order', async () => {
    const ann = await server.newcomer('ann')
    const senders: Person[] = []
    // Not all at once, because a request that waits for a connection for more than 5 s is refused.
    while (senders.length < 100)
      senders.push(...(await Promise.all(Array.from({ length: 10 }, () => server.newcomer('sender')))))
    const channel = await ann.creates({ name: server.unique('crowd') })
    const stream = await ann.opensStream()

    const rounds = [1, 2, 3]
    const sent = await Promise.all(
      senders.map(async (sender) => {
        const own: Message[] = []
        for (const round of rounds) own.push(await sender.says(`${sender.userName} ${round}`, channel))
        return own
      }),
    )
    const total = senders.length * rounds.length
    const expected = Array.from({ length: total }, (_, index) => index + 1)
    const numbers = sent.flat().map(({ seq }) => seq)
    expect(numbers.toSorted((a, b) => a - b)).toEqual(expected)
    for (const own of sent)
      expect(own.map(({ seq }) => seq)).toEqual(own.map(({ seq }) => seq).toSorted((a, b) => a - b))

    const heard = () => stream.all('NEW_MESSAGE').filter(({ channelId }) => channelId === channel.id)
    await stream.until(
      () => heard().length >= total,
      () => `${heard().length} of ${total} came`,
      20_000,
    )
    expect(heard().map(({ seq }) => seq)).toEqual(expected)
    await stream.close()
  })
}
