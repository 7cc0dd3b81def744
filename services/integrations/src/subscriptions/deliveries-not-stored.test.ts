import type { Person } from '@parley/test'
import { sql } from 'kysely'
import { beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { eventually, receives, subscriptionEnvironment } from './subscriptions.testing.ts'

const context = subscriptionEnvironment()
const { environment, subscribes, saysInOrder, looksForChanges } = context
let bot: Person
beforeAll(() => {
  bot = context.bot
})

const storedPos = async (id: string) =>
  (await environment.deps.db.selectFrom('subscriptions').select('pos').where('id', '=', id).executeTakeFirstOrThrow())
    .pos
/** The ids of the events in the list of deliveries. */
const listed = async (id: string): Promise<string[]> =>
  (await bot.get(`/subscriptions/${id}/deliveries`)).body.deliveries.map(({ eventId }: { eventId: string }) => eventId)

test('a list of deliveries that cannot be stored repeats no event, and is logged', async () => {
  const { db } = environment.deps
  const receiver = await receives()
  const { id } = await subscribes(receiver.url)
  const before = await storedPos(id)
  const warned = vi.spyOn(environment.depsOf('integrations').logger, 'warn')
  await sql`revoke insert on subscription_deliveries from parley_integrations`.execute(db)
  const giveBack = () => sql`grant insert on subscription_deliveries to parley_integrations`.execute(db)
  onTestFinished(async () => void (await giveBack()))

  await saysInOrder('one', 'two')
  await eventually(() => expect(receiver.contents()).toContain('two'))
  await looksForChanges()
  await saysInOrder('three')
  await eventually(() => expect(receiver.contents().at(-1)).toBe('three'))
  expect(receiver.contents()).toEqual(['one', 'two', 'three'])
  expect(await storedPos(id)).toBeGreaterThan(before)
  await eventually(() =>
    expect(warned).toHaveBeenCalledWith(
      { err: expect.objectContaining({ message: expect.stringContaining('permission denied') }), deliveries: 2 },
      'the list of deliveries could not be stored',
    ),
  )
  expect(await listed(id)).toEqual([])

  await giveBack()
  await saysInOrder('four')
  await eventually(async () => expect(await listed(id)).toContain(receiver.taken.at(-1)!.id))
  expect(receiver.contents()).toEqual(['one', 'two', 'three', 'four'])
})

test('a locked list of deliveries delays no event and no change', async () => {
  const { db, pool } = environment.deps
  const [receiver, other] = [await receives(), await receives()]
  const { id } = await subscribes(receiver.url)
  const holder = await pool.connect()
  onTestFinished(async () => {
    await holder.query('rollback')
    holder.release()
  })
  await holder.query('begin')
  await holder.query('lock table subscription_deliveries in access exclusive mode')
  await saysInOrder('one')
  await eventually(() => expect(receiver.contents()).toEqual(['one']))
  const waiting = sql<{ pid: number; start: Date }>`select pid, query_start as start from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock' and query ilike 'insert into "subscription_deliveries"%'`
  await eventually(async () => expect((await waiting.execute(db)).rows).toHaveLength(1))
  const { rows } = await waiting.execute(db)

  expect(await bot.put(`/subscriptions/${id}`, { url: other.url })).toMatchObject({ status: 200 })
  await looksForChanges()
  await saysInOrder('two')
  await eventually(() => expect(other.contents()).toEqual(['two']))
  // All that happened while the same statement waited for the table.
  expect((await waiting.execute(db)).rows).toEqual(rows)
  await holder.query('commit')
  await eventually(async () => expect(await listed(id)).toHaveLength(2))
})
