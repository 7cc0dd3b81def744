import { promises as fs } from 'node:fs'
import path from 'node:path'
import { migrate, requireSchema } from '@parley/database'
import { createDatabase } from '@parley/test'
import { sql } from 'kysely'
import { FileMigrationProvider, Migrator } from 'kysely/migration'
import { afterEach, beforeEach, expect, test } from 'vitest'

let database: Awaited<ReturnType<typeof createDatabase>>
beforeEach(async () => {
  database = await createDatabase()
  await sql`drop schema public cascade`.execute(database.db)
  await sql`create schema public`.execute(database.db)
})
afterEach(() => database.drop())

async function migrateTo(name: string) {
  const migrationFolder = path.join(import.meta.dirname, 'migrations')
  const migrator = new Migrator({ db: database.db, provider: new FileMigrationProvider({ fs, path, migrationFolder }) })
  const { error } = await migrator.migrateTo(name)
  if (error) throw error
}

const someoneWaitsFor = async (table: string) => {
  const { rows } = await sql<{ waits: boolean }>`select exists (
    select from pg_locks where relation = ${table}::regclass and not granted) as waits`.execute(database.db)
  return rows[0]!.waits
}

test.each([
  // 0028 changes users and 0030 changes sessions.
  [
    'a service that holds one table while migrations wait for it gets at a table that they have changed',
    '0027-avatars',
  ],
  // 0032 changes users first and then sessions, in one transaction.
  ['a migration that would wait for a service, which waits for the migration, gives way', '0031-scim'],
])('%s', async (_, before) => {
  await migrateTo(before)
  let migrated: Promise<string[]> | undefined
  await database.db.transaction().execute(async (service) => {
    await sql`select from sessions`.execute(service)
    migrated = migrate(database.db)
    await expect.poll(() => someoneWaitsFor('sessions'), { timeout: 20_000, interval: 5 }).toBe(true)
    await sql`select from users`.execute(service)
  })
  await migrated
  await requireSchema(database.db)
})
