import { connectDatabase, migrate } from '@parley/database'
import { createDatabase } from '@parley/test'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'

let database: Awaited<ReturnType<typeof createDatabase>>
beforeAll(async () => {
  database = await createDatabase()
  await sql`drop schema public cascade`.execute(database.db)
  await sql`create schema public`.execute(database.db)
})
afterAll(() => database.drop())

test('ten processes may migrate an empty database at once', async () => {
  const processes = Array.from({ length: 10 }, () =>
    connectDatabase({ url: database.url, poolSize: 1, applicationName: 'migrating', onIdleError: () => {} }),
  )
  const ran = await Promise.all(processes.map(({ db }) => migrate(db)))
  await Promise.all(processes.map(({ close }) => close()))

  expect(ran.flat()).toEqual(['0001-foundation'])
  expect(await migrate(database.db)).toEqual([])
})
