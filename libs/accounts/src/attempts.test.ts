import { createDatabase, type TestDatabase } from '@parley/test'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { clearAttemptsOfAccount, countAttempt, findWait, tryAttempt } from './attempts.ts'

const limit = { kind: 'test', most: 3 }
const minute = 60_000
const start = 1_800_000_000_000
let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase(20)
})
afterAll(() => database.drop())

const count = (subject: string, minutes: number) =>
  countAttempt(database.as('auth').db, limit, subject, start + minutes * minute)
const wait = (subject: string, minutes: number) =>
  findWait(database.as('auth').db, limit, subject, start + minutes * minute)

test('thirty concurrent attempts: as many as the limit count', async () => {
  const waits = await Promise.all(Array.from({ length: 30 }, () => count('crowd', 0)))
  expect(waits.filter((seconds) => seconds === 0)).toHaveLength(3)
  expect(new Set(waits)).toEqual(new Set([0, 900]))
})

test('the window slides: each attempt makes room 15 minutes after itself', async () => {
  expect([await count('slow', 0), await count('slow', 5), await wait('slow', 5), await count('slow', 10)]).toEqual([
    0, 0, 0, 0,
  ])
  expect([await count('slow', 11), await wait('slow', 11)]).toEqual([240, 240])
  expect([await count('slow', 15), await wait('slow', 15), await count('slow', 15)]).toEqual([0, 300, 300])
  expect(
    await database.db.selectFrom('attempts').select('attemptedAt').where('subject', '=', 'slow').execute(),
  ).toEqual([{ attemptedAt: [5, 10, 15].map((minutes) => start + minutes * minute) }])
})

test('an attempt that began earlier but was counted later waits at most for the whole window', async () => {
  for (let index = 0; index < 3; index++) await count('jostling', 1)
  expect([await count('jostling', 0), await wait('jostling', 0)]).toEqual([900, 900])
})

test('subjects and kinds are counted separately', async () => {
  for (let index = 0; index < 3; index++) await count('one', 0)
  expect(await wait('one', 0)).toBe(900)
  expect(await wait('other', 0)).toBe(0)
  expect(await findWait(database.as('auth').db, { ...limit, kind: 'another' }, 'one', start)).toBe(0)
})

test('each attempt has its number, and those about an account are forgotten together', async () => {
  const attempt = (subject: string, account: string) =>
    tryAttempt(database.as('auth').db, limit, { subject, account, now: start })
  const counts = [await attempt('here', 'ann'), await attempt('here', 'ann'), await attempt('here', 'ann')]
  expect(counts.map((counted) => counted.count)).toEqual([1, 2, 3])
  expect(await attempt('here', 'ann')).toEqual({ seconds: 900 })
  await attempt('there', 'ann')
  await attempt('here, bob', 'bob')

  await database
    .as('auth')
    .db.transaction()
    .execute((trx) => clearAttemptsOfAccount(trx, 'ann'))
  expect((await attempt('here', 'ann')).count).toBe(1)
  expect((await attempt('there', 'ann')).count).toBe(1)
  expect((await attempt('here, bob', 'bob')).count).toBe(2)
})
