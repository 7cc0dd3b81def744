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
 * Brings the database to the newest schema and returns the names of the migrations that were run. Runs under a lock:
 * any number of processes may call it at once, one does the work and the others wait. A database that a newer version has
 * migrated is left as it is: the version before runs on it too.
 * Each service's role gets its rights, see `rights.ts`; what only the version before needs is left until this is run once more.
 * @throws the database's error when a migration fails; its transaction is rolled back.
 */
export async function migrate(db: Database): Promise<string[]> {
  const known = await ourMigrations.getMigrations()
  const newer = await findNewerMigrations(db, Object.keys(known).sort().at(-1)!)
  const isNew = await isUnmigrated(db)
  const migrator = new Migrator({ db, provider: { getMigrations: async () => ({ ...known, ...newer }) } })
  const { error, results } = await migrator.migrateToLatest()
  if (error) throw error
  // A newer version knows what its tables are for.
  const names = (results ?? []).map(({ migrationName }) => migrationName)
  if (Object.keys(newer).length === 0) await grantRights(db, { isUpgrade: !isNew && names.length > 0 })
  return names
}

/** What a newer version has done already, with nothing left to do: Kysely refuses a database with migrations it is not given. */
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
 * Resolves when every migration of this version was run; a newer schema does too.
 * @throws Error when one has yet to be run, the database's error when it does not answer.
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
