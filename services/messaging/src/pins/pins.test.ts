import type { Message } from '@parley/contract'
import { uuidv7 } from '@parley/database'
import { testEnvironment } from '@parley/test/test-environment'
import { describe, expect, test } from 'vitest'

const environment = testEnvironment({ messages: { maxPins: 5 } })
const pinsOf = async (channel: { id: string }): Promise<Message[]> =>
  (await environment.people.ann.get(`/channels/${channel.id}/pins`)).body.messages

describe('POST and DELETE /messages/:messageId/pin', () => {
  test('return the whole message, and send an event to the channel', async () => {
    const { ann, bob, cat } = environment.people
    const message = await ann.says('keep this', environment.channel.secret)
    const response = await bob.post(`/messages/${message.id}/pin`)

    const pinned = { ...message, pinnedAt: expect.any(Number), rev: message.rev + 1 }
    expect({ status: response.status, body: response.body }).toEqual({
      status: 200,
      body: { message: pinned, isChanged: true },
    })
    await environment.events.to(ann).toHave('UPDATE_MESSAGE', response.body.message)
    await environment.events.to(cat).neverHave('UPDATE_MESSAGE', { id: message.id })

    const unpinned = await ann.delete(`/messages/${message.id}/pin`)
    expect(unpinned.body).toEqual({ message: { ...message, rev: message.rev + 2 }, isChanged: true })
    await environment.events.to(bob).toHave('UPDATE_MESSAGE', unpinned.body.message)
  })

  test('change nothing and send no event when nothing is to change', async () => {
    const { ann, bob } = environment.people
    const message = await ann.says('once', environment.channel.open)
    expect((await ann.delete(`/messages/${message.id}/pin`)).body).toEqual({ message, isChanged: false })
    const first = await ann.post(`/messages/${message.id}/pin`)
    environment.pass(1_000)
    expect((await bob.post(`/messages/${message.id}/pin`)).body).toEqual({ ...first.body, isChanged: false })
    const recorded = environment.deps.db
      .selectFrom('outbox')
      .select('event')
      .where('event', 'like', `%"id":"${message.id}"%`)
      .orderBy('id')
    expect((await recorded.execute()).map(({ event }) => JSON.parse(event!).type)).toEqual([
      'NEW_MESSAGE',
      'UPDATE_MESSAGE',
    ])
  })

  test('a channel has at most the allowed number of pins, also with concurrent requests', async () => {
    const { ann, bob } = environment.people
    const channel = await ann.creates({ name: 'full board' })
    const messages = await Promise.all(Array.from({ length: 20 }, (_, n) => ann.says(`${n}`, channel)))
    const responses = await Promise.all(messages.map(({ id }, n) => (n % 2 ? ann : bob).post(`/messages/${id}/pin`)))
    const refused = responses.filter(({ status }) => status === 400)
    expect([responses.filter(({ status }) => status === 200).length, refused.length]).toEqual([5, 15])
    const error = 'A channel can have at most 5 pinned messages. Please unpin one first'
    expect(refused[0]!.body).toMatchObject({ error, code: 'invalid_request' })

    const pinned = await pinsOf(channel)
    expect(pinned).toHaveLength(5)
    expect(await bob.post(`/messages/${pinned[0]!.id}/pin`)).toMatchObject({ status: 200 })
    await ann.delete(`/messages/${pinned[0]!.id}`)
    await ann.delete(`/messages/${pinned[1]!.id}/pin`)
    const rest = messages.filter(({ id }) => !pinned.some((pin) => pin.id === id))
    const statuses = []
    for (const { id } of rest.slice(0, 3)) statuses.push((await ann.post(`/messages/${id}/pin`)).status)
    expect(statuses).toEqual([200, 200, 400])
  })

  test('are for those who may read the message', async () => {
    const { ada, ann, bob, cat, nobody } = environment.people
    const message = await ann.says('for few', environment.channel.secret)
    for (const method of ['post', 'delete'] as const) {
      const statuses = [ada, bob, cat, nobody].map(
        async (person) => (await person[method](`/messages/${message.id}/pin`)).status,
      )
      expect(await Promise.all(statuses)).toEqual([200, 200, 403, 401])
      for (const id of [uuidv7(), 'nonsense']) {
        expect(await ann[method](`/messages/${id}/pin`)).toMatchObject({ status: 404 })
      }
    }
  })
})

describe('GET /channels/:channelId/pins', () => {
  test('returns the pinned messages, newest pin first, without deleted ones', async () => {
    const { ann } = environment.people
    const channel = await ann.creates({ name: 'pinboard' })
    const [one, two, three] = [await ann.says('1', channel), await ann.says('2', channel), await ann.says('3', channel)]
    await ann.says('not pinned', channel)
    for (const { id } of [two, one, three]) {
      environment.pass(1)
      await ann.post(`/messages/${id}/pin`)
    }
    expect((await pinsOf(channel)).map(({ id }) => id)).toEqual([three.id, one.id, two.id])
    await ann.delete(`/messages/${one.id}/pin`)
    await ann.delete(`/messages/${three.id}`)
    expect((await pinsOf(channel)).map(({ id }) => id)).toEqual([two.id])
    const { body } = await ann.get(`/channels/${channel.id}/messages?limit=3`)
    expect(await pinsOf(channel)).toEqual([body.messages.find(({ id }: Message) => id === two.id)])
  })

  test('is for those who may read the channel', async () => {
    const { ada, ann, bob, cat, nobody } = environment.people
    const path = `/channels/${environment.channel.secret.id}/pins`
    const statuses = [ada, bob, cat, nobody].map(async (person) => (await person.get(path)).status)
    expect(await Promise.all(statuses)).toEqual([200, 200, 403, 401])
    for (const id of [uuidv7(), 'nonsense', `dm:${uuidv7()}`]) {
      expect(await ann.get(`/channels/${id}/pins`)).toMatchObject({ status: 404 })
    }
  })
})
