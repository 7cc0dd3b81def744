import { randomUUID } from 'node:crypto'
import { type SubscriptionDeliveryRow, uuidv7 } from '@parley/database'
import type { PositionedEvent } from '@parley/events'
import { createRequester } from '@parley/requester'
import type { Person } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { startsApp } from '../apps/app.testing.ts'
import { createsBot } from '../bot.testing.ts'
import { createQueueSender } from './send-queue.ts'
import { addEvents } from './subscriber.ts'
import { createSubscribers } from './subscribers.ts'
import { findChanged, findSubscription, insertDeliveries, updatePositions } from './subscriptions.queries.ts'

const environment = testEnvironment({ integrations: { allowedNetworks: ['127.0.0.1'] } })
let bot: Person
beforeAll(async () => {
  bot = await createsBot(environment, 'receiver')
})

const type = 'DELETE_CHANNEL'
const eventAt = (pos: number): PositionedEvent => ({
  pos,
  routing: { to: 'everyone' },
  event: JSON.stringify({ type, payload: { id: randomUUID() } }),
  trace: null,
})

/**
 * A process with events for one subscription. It holds the lease until the receiver gets its `losesAt`-th request.
 * These tests delete no channel, so their server has nothing to send to the subscription.
 */
async function leadsUntil(losesAt: number, status: number) {
  const term = { hasLease: losesAt > 0 }
  const receiver = await startsApp(() => {
    if (receiver.sent.length >= losesAt) term.hasLease = false
    return status
  })
  const { body } = await bot.post('/subscriptions', { url: receiver.url, events: [type] })
  const deps = environment.depsOf('integrations')
  const requester = createRequester(deps.config.integrations)
  onTestFinished(() => requester.close())
  const subscribers = createSubscribers(deps.seals)
  for (const row of await findChanged(deps.db, 0)) subscribers.apply(row)
  const subscriber = [...subscribers.all].find(({ id }) => id === body.subscription.id)!
  const events = [eventAt(1), eventAt(2), eventAt(3)]
  addEvents(subscriber, events, { readPos: 3, checkedAt: Number.NEGATIVE_INFINITY })

  const deliveries: SubscriptionDeliveryRow[] = []
  const parts = { ...deps, requester, retryMs: () => 60_000 }
  const ended = new AbortController().signal
  const send = createQueueSender(parts, { epoch: 'of this test', deliveries, ended, maySend: () => term.hasLease })
  const row = () => findSubscription(deps.db, subscriber.id)
  return { receiver, subscriber, send: () => send(subscriber), row, before: await row() }
}

describe('a process that has lost the lease', () => {
  test('sends nothing', async () => {
    const { receiver, subscriber, send } = await leadsUntil(0, 200)
    await send()
    expect([receiver.sent.length, subscriber.queue.length]).toEqual([0, 3])
  })

  test('ends with the event that it was sending', async () => {
    const { receiver, subscriber, send } = await leadsUntil(2, 200)
    await send()
    expect([receiver.sent.length, subscriber.queue.map(({ pos }) => pos)]).toEqual([2, [3]])
  })

  test.each([410, 500])('writes nothing about a %i that comes afterwards', async (status) => {
    const { send, row, before } = await leadsUntil(1, status)
    await send()
    expect(before).toMatchObject({ attempts: 0, isPaused: false })
    expect(await row()).toEqual(before)
  })

  test('does not store its progress', async () => {
    const { db } = environment.deps
    const { row, before } = await leadsUntil(0, 200)
    const { id, generation, pos, epoch } = before!
    const { holder } = await db.selectFrom('deliveryLease').select('holder').executeTakeFirstOrThrow()
    await updatePositions(db, 'a former leader', epoch, [{ id, generation, pos: pos + 7 }])
    expect((await row())!.pos).toBe(pos)
    await updatePositions(db, holder!, epoch, [{ id, generation, pos: pos + 7 }])
    expect((await row())!.pos).toBe(pos + 7)
  })
})

test.each([
  [410, { isPaused: true }],
  [500, { isPaused: false, attempts: 1 }],
])('the process with the lease stores the effect of a %i', async (status, change) => {
  const { send, row } = await leadsUntil(2, status)
  await send()
  expect(await row()).toMatchObject(change)
})

test('the deliveries of one second are stored, also when they are too many for one statement', async () => {
  const { db } = environment.depsOf('integrations')
  const subscriptionId = uuidv7()
  const attempt = {
    subscriptionId,
    eventId: 'many.1',
    type,
    attempt: 1,
    status: 200,
    durationMs: 1,
    error: null,
    createdAt: 1,
  }
  await insertDeliveries(
    db,
    Array.from({ length: 8_000 }, () => ({ id: uuidv7(), ...attempt })),
  )
  const ofIt = db.selectFrom('subscriptionDeliveries').where('subscriptionId', '=', subscriptionId)
  expect(await ofIt.select('id').execute()).toHaveLength(8_000)
})
