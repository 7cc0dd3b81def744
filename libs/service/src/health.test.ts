import { createDatabase, type TestDatabase } from '@parley/test'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { type Check, databaseCheck } from './health.ts'

let database: TestDatabase
let check: Check
beforeAll(async () => {
  database = await createDatabase(1)
})
beforeEach(async () => {
  check = databaseCheck(database)
  await check.run()
})
afterAll(() => database.drop())

/** Somebody has the only connection, and somebody else waits for it. The check waits behind them. */
async function checkBehindOthers() {
  const served = await database.pool.connect()
  const waiting = database.pool.connect()
  const checked = check.run()
  await expect.poll(() => database.pool.waitingCount).toBe(2)
  return { served, waiting, checked }
}

test('PostgreSQL is available when it answers others, although the check gets no connection', async () => {
  const { served, waiting, checked } = await checkBehindOthers()
  served.release()
  const next = await waiting
  onTestFinished(() => next.release())
  await expect(checked).resolves.toBeUndefined()
})

test('PostgreSQL is unavailable when it answers nobody', async () => {
  const { served, waiting, checked } = await checkBehindOthers()
  const none = expect(waiting).rejects.toThrow('timeout exceeded')
  await expect(checked).rejects.toThrow('timeout exceeded')
  await none
  served.release()
})
