import { type SubscriptionDeliveryRow, uuidv7 } from '@parley/database'
import { Person, somebodyWaitsFor } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { sql } from 'kysely'
import { beforeAll, expect, test, vi } from 'vitest'
import { startsApp } from '../apps/app.testing.ts'
import { insertResponse } from '../apps/apps.queries.ts'
import { insertDeliveries } from './subscriptions.queries.ts'

const environment = testEnvironment({ integrations: { allowedNetworks: ['127.0.0.1'] } })
const hourMs = 3_600_000
const eventually = (assertion: () => void | Promise<void>) => vi.waitFor(assertion, { timeout: 20_000, interval: 50 })

/** A bot with an API token, which is valid for longer than the hours of these tests. */
let bot: Person
beforeAll(async () => {
  const { ada } = environment.people
  const { body } = await ada.post('/bots', { userName: 'receiver' })
  const token = await ada.post(`/bots/${body.bot.id}/tokens`, { name: 'a program', scopes: ['read', 'write'] })
  bot = new Person(environment.baseUrl, body.bot, token.body.token)
  await bot.post(`/channels/${environment.channel.open.id}/join`)
})

/** Attempts of a subscription that were eight days ago. */
const oldDeliveries = (subscriptionId: string, count: number): SubscriptionDeliveryRow[] =>
  Array.from({ length: count }, () => ({
    id: uuidv7(),
    subscriptionId,
    eventId: 'old.1',
    type: 'NEW_MESSAGE',
    attempt: 1,
    status: 200,
    durationMs: 1,
    error: null,
    createdAt: Date.now() - 8 * 24 * hourMs,
  }))

async function countDeliveries(subscriptionId: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::integer as count from subscription_deliveries where subscription_id = ${subscriptionId}`.execute(
    environment.deps.db,
  )
  return rows[0]!.count
}

test('the deliveries of one second are stored, also when they are too many for one statement', async () => {
  const subscriptionId = uuidv7()
  await insertDeliveries(environment.depsOf('integrations').db, oldDeliveries(subscriptionId, 8_000))
  expect(await countDeliveries(subscriptionId)).toBe(8_000)
})

test('the hourly clean-up does not delay events, and what failed is deleted an hour later', async () => {
  const { db } = environment.deps
  const receiver = await startsApp()
  const { body } = await bot.post('/subscriptions', { url: receiver.url, events: ['NEW_MESSAGE'] })
  const subscriptionId = body.subscription.id as string
  const gets = (content: string) => eventually(() => expect(receiver.sent.at(-1)?.body).toContain(content))
  // The clean-up of the start begins before the first event is sent.
  await bot.says('after the start', environment.channel.open)
  await gets('after the start')
  // More than one batch.
  const old = oldDeliveries(subscriptionId, 6_000)
  await insertDeliveries(db, old)
  await insertResponse(db, {
    id: uuidv7(),
    secretHash: Buffer.alloc(32),
    botId: bot.id,
    userId: bot.id,
    channelId: environment.channel.open.id,
    messageId: null,
    usesLeft: 5,
    expiresAt: Date.now() - 1,
  })

  await db.transaction().execute(async (trx) => {
    await trx.selectFrom('subscriptionDeliveries').select('id').where('id', '=', old[0]!.id).forUpdate().execute()
    environment.pass(hourMs + 1)
    await somebodyWaitsFor(trx)
    await bot.says('during the clean-up', environment.channel.open)
    await gets('during the clean-up')
    // As after a time limit of PostgreSQL.
    await sql`select pg_cancel_backend(pid) from pg_stat_activity where pg_backend_pid() = any(pg_blocking_pids(pid))`.execute(
      trx,
    )
    await eventually(async () => expect(await db.selectFrom('appResponses').selectAll().execute()).toEqual([]))
  })
  expect(await countDeliveries(subscriptionId)).toBeGreaterThanOrEqual(old.length)

  environment.pass(hourMs + 1)
  // The two deliveries of this test stay.
  await eventually(async () => expect(await countDeliveries(subscriptionId)).toBe(2))
})
