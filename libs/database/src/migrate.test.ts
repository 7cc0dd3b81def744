import { readdirSync } from 'node:fs'
import path from 'node:path'
import { connectDatabase, migrate, requireSchema } from '@parley/database'
import { createDatabase } from '@parley/test'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'

const known = readdirSync(path.join(import.meta.dirname, 'migrations'))
  .map((file) => path.basename(file, '.ts'))
  .sort()

let database: Awaited<ReturnType<typeof createDatabase>>
beforeAll(async () => {
  database = await createDatabase()
  await sql`drop schema public cascade`.execute(database.db)
  await sql`create schema public`.execute(database.db)
})
afterAll(() => database.drop())

test('ten processes may migrate an empty database at once', async () => {
  await expect(requireSchema(database.db)).rejects.toThrow(known.at(-1))
  const processes = Array.from({ length: 10 }, () =>
    connectDatabase({ url: database.url, poolSize: 1, applicationName: 'migrating', onIdleError: () => {} }),
  )
  const ran = await Promise.all(processes.map(({ db }) => migrate(db)))
  await Promise.all(processes.map(({ close }) => close()))

  expect(ran.flat().sort()).toEqual(known)
  expect(await migrate(database.db)).toEqual([])
  await requireSchema(database.db)
})

test('a database of a newer version is not changed', async () => {
  await sql`insert into kysely_migration (name, timestamp) values ('9999-of-the-next-version', '2030-01-01T00:00:00Z')`.execute(
    database.db,
  )
  expect(await migrate(database.db)).toEqual([])
  await requireSchema(database.db)
})
