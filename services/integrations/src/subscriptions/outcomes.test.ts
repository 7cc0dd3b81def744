import type { Transaction } from '@parley/database'
import { type Person, somebodyWaitsFor } from '@parley/test'
import { sql } from 'kysely'
import { beforeAll, describe, expect, test } from 'vitest'
import { eventually, receives, subscriptionEnvironment } from './subscriptions.testing.ts'

const context = subscriptionEnvironment()
const { environment, subscribes, saysInOrder, looksForChanges } = context
let bot: Person
beforeAll(() => {
  bot = context.bot
})

describe('a subscription with a receiver that is gone', () => {
  /**
   * Runs the work while writes to the audit log wait, and with them a pause, which writes its entry in the same
   * transaction.
   */
  async function whilePauseWaits(run: (trx: Transaction) => Promise<unknown>) {
    await environment.deps.db.transaction().execute(async (trx) => {
      await sql`lock table audit_log in share mode`.execute(trx)
      await run(trx)
    })
  }

  const isPaused = async (id: string) => (await bot.get(`/subscriptions/${id}`)).body.subscription.isPaused

  test('is paused by a 410, with a mail, and gets the missed events when it is continued', async () => {
    const { ada } = environment.people
    const receiver = await receives((response) => void response.writeHead(410).end())
    const { id } = await subscribes(receiver.url, { botId: bot.id }, ada)
    await saysInOrder('gone')
    await eventually(async () => {
      const { subscription } = (await bot.get(`/subscriptions/${id}`)).body
      expect(subscription).toMatchObject({ isPaused: true, pauseReason: expect.stringContaining('410') })
    })
    const mails = await environment.deps.db
      .selectFrom('auditLog')
      .select('targetId')
      .where('action', '=', 'subscription.pause')
      .execute()
    expect(mails).toEqual([{ targetId: id }])

    await saysInOrder('meanwhile')
    receiver.control.answer = (response) => void response.end()
    expect(await bot.put(`/subscriptions/${id}`, { isPaused: false })).toMatchObject({ status: 200 })
    await eventually(() => expect(receiver.contents()).toEqual(['gone', 'gone', 'meanwhile']))
  })

  test('stays paused when its row was read again before the pause was stored', async () => {
    const receiver = await receives((response) => void response.writeHead(410).end())
    const { id } = await subscribes(receiver.url)
    await whilePauseWaits(async (trx) => {
      await saysInOrder('gone')
      await somebodyWaitsFor(trx)
      await looksForChanges()
    })
    await eventually(async () => expect(await isPaused(id)).toBe(true))
    await looksForChanges()
    expect(receiver.contents()).toEqual(['gone'])
  })

  test('gets an event again that it answered with 410 when the pause could not be stored', async () => {
    const receiver = await receives((response) => void response.writeHead(410).end())
    const { id } = await subscribes(receiver.url)
    await whilePauseWaits(async (trx) => {
      await saysInOrder('gone')
      await somebodyWaitsFor(trx)
      await sql`select pg_terminate_backend(pid) from pg_stat_activity where pg_backend_pid() = any(pg_blocking_pids(pid))`.execute(
        trx,
      )
      await looksForChanges()
      expect(await isPaused(id)).toBe(false)
    })
    await eventually(async () => expect(await isPaused(id)).toBe(true))
    expect(new Set(receiver.contents())).toEqual(new Set(['gone']))
    expect(receiver.taken.length).toBeGreaterThanOrEqual(2)
  })
})
