import { promises as fs } from 'node:fs'
import path from 'node:path'
import { sql } from 'kysely'
import { FileMigrationProvider, type Migration, Migrator } from 'kysely/migration'
import type { Database } from './connect.ts'
import { isSchemaMissing } from './failures.ts'
import { grantRights } from './roles.ts'

const ourMigrations = new FileMigrationProvider({
  fs,
  path,
  migrationFolder: path.join(import.meta.dirname, 'migrations'),
})

/**
 * Runs the migrations that are missing and returns their names. Any number of processes may call it at once: one does the work under
 * a lock, and the others wait. A database with migrations of a newer version is not changed, since this version runs on it too.
 * Every role gets its rights (`rights.ts`). Rights that only the version before needs are taken away by the next call.
 * @throws the database's error when a migration fails. Its transaction is rolled back.
 */
export async function migrate(db: Database): Promise<string[]> {
  const known = await ourMigrations.getMigrations()
  const newer = await findNewerMigrations(db, Object.keys(known).sort().at(-1)!)
  const isNew = await isUnmigrated(db)
  const migrator = new Migrator({ db, provider: { getMigrations: async () => ({ ...known, ...newer }) } })
  const { error, results } = await migrator.migrateToLatest()
  if (error) throw error
  // Only the newer version knows the rights on its tables.
  const names = (results ?? []).map(({ migrationName }) => migrationName)
  if (Object.keys(newer).length === 0) await grantRights(db, { isUpgrade: !isNew && names.length > 0 })
  return names
}

/** The migrations of a newer version, as empty ones: Kysely refuses a database with migrations that it does not know. */
async function findNewerMigrations(db: Database, newestOfOurs: string): Promise<Record<string, Migration>> {
  if (await isUnmigrated(db)) return {}
  const newer = await sql<{ name: string }>`select name from kysely_migration where name > ${newestOfOurs}`.execute(db)
  return Object.fromEntries(newer.rows.map(({ name }) => [name, { up: async () => {} }]))
}

async function isUnmigrated(db: Database): Promise<boolean> {
  const { rows } = await sql<{ missing: boolean }>`select to_regclass('kysely_migration') is null as missing`.execute(
    db,
  )
  return rows[0]!.missing
}

/**
 * Checks that every migration of this version was run. Further migrations are fine.
 * @throws Error with the missing migrations, or the database's error.
 */
export async function requireSchema(db: Database): Promise<void> {
  const rows = await sql<{ name: string }>`select name from kysely_migration`.execute(db).then(
    (result) => result.rows,
    (error) => {
      if (isSchemaMissing(error)) return []
      throw error
    },
  )
  const missing = Object.keys(await ourMigrations.getMigrations()).filter(
    (name) => !rows.some((row) => row.name === name),
  )
  if (missing.length > 0) throw new Error(`migrations have yet to be run: ${missing.join(', ')}`)
}
