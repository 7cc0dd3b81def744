import { lockLivePeople } from '@parley/membership'
import { createDatabase, somebodyWaitsFor, type TestDatabase } from '@parley/test'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { assignRole, createUser, lockAdminsAnd } from './index.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase(4)
})
afterAll(() => database.drop())

const now = 1
const adds = async (name: string, isAdmin = false) =>
  (await database.db
    .transaction()
    .execute((trx) => createUser(trx, { email: `${name}@example.com`, isAdmin, ip: null, now })))!.id
const begins = () => database.db.startTransaction().execute()

test('people are locked in the order of their ids, also when somebody becomes an admin before the locks are granted', async () => {
  const admin = await adds('admin', true)
  const [promoted, changed] = [await adds('promoted'), await adds('changed')]
  expect([promoted, changed].toSorted()).toEqual([promoted, changed])
  const actor = { actorId: admin, ip: null, now }

  const promotion = await begins()
  await assignRole(promotion, promoted, { role: 'admin' }, actor)
  const change = await begins()
  const locked = lockAdminsAnd(change, changed)
  await somebodyWaitsFor(promotion)
  await promotion.commit().execute()
  await locked

  const other = await begins()
  const theirs = lockLivePeople(other, [promoted, changed])
  await somebodyWaitsFor(change)
  expect([...(await lockAdminsAnd(change, changed)).keys()].toSorted()).toEqual([admin, promoted, changed])
  await change.commit().execute()
  expect((await theirs).size).toBe(2)
  await other.commit().execute()
})
