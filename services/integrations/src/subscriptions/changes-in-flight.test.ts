import type { ServerResponse } from 'node:http'
import type { Person } from '@parley/test'
import { beforeAll, describe, expect, test } from 'vitest'
import { eventually, receives, subscriptionEnvironment } from './subscriptions.testing.ts'

const context = subscriptionEnvironment()
const { environment, subscribes, saysInOrder, looksForChanges } = context
let bot: Person
beforeAll(() => {
  bot = context.bot
})

/** A receiver that keeps the first request with this message waiting, until the test answers it. */
async function receivesSlowly(content: string) {
  const held = Promise.withResolvers<ServerResponse>()
  let isHeld = false
  const receiver = await receives((response, { payload }) => {
    if (payload.content !== content || isHeld) return void response.end()
    isHeld = true
    held.resolve(response)
  })
  return { ...receiver, held: held.promise }
}

const stored = (id: string) =>
  environment.deps.db.selectFrom('subscriptions').selectAll().where('id', '=', id).executeTakeFirstOrThrow()

describe.each<[string, (response: ServerResponse) => unknown]>([
  ['accepts', (response) => response.end()],
  ['refuses', (response) => response.writeHead(500).end()],
  ['is gone for', (response) => response.writeHead(410).end()],
  ['breaks off', (response) => response.destroy()],
])('while a request waits, and its receiver then %s it', (_, answer) => {
  test.each([
    ['at once', async () => {}],
    ['after the deliverer has noticed the replay', looksForChanges],
  ])('a replay sends everything again in order: %s', async (_, before) => {
    const receiver = await receivesSlowly('second')
    const { id } = await subscribes(receiver.url)
    const start = (await stored(id)).pos
    await saysInOrder('first', 'second')
    const response = await receiver.held
    await saysInOrder('third')
    const { epoch } = await stored(id)
    const replayed = await bot.post(`/subscriptions/${id}/replay`, { cursor: `${epoch}.${start}` })
    expect(replayed).toMatchObject({ status: 200 })
    await before()
    answer(response)
    await eventually(() => expect(receiver.contents().slice(2).slice(-3)).toEqual(['first', 'second', 'third']))
    await saysInOrder('fourth')
    await eventually(() => expect(receiver.contents().at(-1)).toBe('fourth'))
    expect(receiver.contents().slice(-4)).toEqual(['first', 'second', 'third', 'fourth'])
    expect(await stored(id)).toMatchObject({ isPaused: false, attempts: 0, generation: 2 })
  })
})

describe('a subscription with a new address', () => {
  test.each([
    ['before', async () => {}],
    ['after', looksForChanges],
  ])('is not paused by the old one, that answers 410 %s the deliverer has noticed the change', async (_, before) => {
    const old = await receivesSlowly('moved')
    const receiver = await receives()
    const { id } = await subscribes(old.url)
    await saysInOrder('moved')
    const response = await old.held
    expect(await bot.put(`/subscriptions/${id}`, { url: receiver.url })).toMatchObject({ status: 200 })
    await before()
    response.writeHead(410).end()
    await eventually(() => expect(receiver.contents()).toEqual(['moved']))
    expect(await stored(id)).toMatchObject({ isPaused: false, pauseReason: null, attempts: 0 })
    expect(old.contents()).toEqual(['moved'])
  })

  test('does not wait for the next attempt of the old one', async () => {
    const old = await receives((response) => void response.writeHead(500).end())
    const receiver = await receives()
    const { id } = await subscribes(old.url)
    await saysInOrder('moved')
    await eventually(async () => expect((await stored(id)).attempts).toBe(1))
    const hourLater = Date.now() + 3_600_000
    await environment.deps.db
      .updateTable('subscriptions')
      .set({ retryAt: hourLater, updatedAt: Date.now() })
      .where('id', '=', id)
      .execute()
    await looksForChanges()
    expect(await bot.put(`/subscriptions/${id}`, { url: receiver.url })).toMatchObject({ status: 200 })
    await eventually(() => expect(receiver.contents()).toEqual(['moved']))
    expect(await stored(id)).toMatchObject({ attempts: 0, failingSince: null, retryAt: null })
  })
})

test('a change and a deletion in the same millisecond both take effect', async () => {
  const [receiver, witness] = [await receives(), await receives()]
  const { id } = await subscribes(receiver.url)
  await subscribes(witness.url)
  environment.stopClock()
  expect(await bot.put(`/subscriptions/${id}`, { channelIds: [] })).toMatchObject({ status: 200 })
  await looksForChanges()
  expect(await bot.delete(`/subscriptions/${id}`)).toMatchObject({ status: 200 })
  await looksForChanges()
  await saysInOrder('after the deletion')
  await eventually(() => expect(witness.contents()).toEqual(['after the deletion']))
  await looksForChanges()
  expect(receiver.contents()).toEqual([])
})
