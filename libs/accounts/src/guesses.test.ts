import { createDatabase, type TestDatabase } from '@parley/test'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { clearGuesses, countWrongGuess } from './guesses.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase(5)
})
afterAll(() => database.drop())

const email = 'ann@example.com'
const guessFrom = (ip: string) =>
  database
    .as('auth')
    .db.transaction()
    .execute((trx) => countWrongGuess(trx, { email, ip, now: 1_800_000_000_000 }))

const waitingTransactions = async () => {
  const { rows } = await sql<{ pid: number }>`
    select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(
    database.db,
  )
  return rows.length
}

test('the Unicode and the ASCII form of a domain have one counter', async () => {
  const guess = (email: string) =>
    database
      .as('auth')
      .db.transaction()
      .execute((trx) => countWrongGuess(trx, { email, ip: '203.0.113.1', now: 1_800_000_000_000 }))
  for (let times = 0; times < 5; times++) {
    await guess('żaneta@łódź.pl')
    await guess('żaneta@xn--d-uga0v4h.pl')
  }
  await expect(guess('żaneta@łódź.pl')).rejects.toMatchObject({ status: 429 })
})

test('a new password and guesses from several networks at once do not block each other for ever', async () => {
  await guessFrom('192.0.2.1')
  await guessFrom('198.51.100.1')
  const holder = await database.db.startTransaction().execute()
  await holder.selectFrom('attempts').selectAll().where('subject', '=', email).forUpdate().execute()

  const clearing = database
    .as('auth')
    .db.transaction()
    .execute((trx) => clearGuesses(trx, email))
  await expect.poll(waitingTransactions, { timeout: 20_000 }).toBe(1)
  const guessing = guessFrom('198.51.100.1')
  await expect.poll(waitingTransactions, { timeout: 20_000 }).toBe(2)
  await holder.commit().execute()

  expect(await Promise.allSettled([clearing, guessing])).toMatchObject([
    { status: 'fulfilled' },
    { status: 'fulfilled', value: [] },
  ])
})
