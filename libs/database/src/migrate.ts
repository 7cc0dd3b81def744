import { promises as fs } from 'node:fs'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import { FileMigrationProvider, type Migration, Migrator } from 'kysely/migration'
import type { Database } from './connect.ts'
import { isLockBusy, isSchemaMissing } from './failures.ts'
import { grantRights } from './roles.ts'

const ourMigrations = new FileMigrationProvider({
  fs,
  path,
  migrationFolder: path.join(import.meta.dirname, 'migrations'),
})

/**
 * How long a migration waits for a table that is in use. While it waits, every new statement on that table waits behind
 * it. The time is shorter than PostgreSQL's `deadlock_timeout` of a second, so the migration gives up before PostgreSQL
 * aborts a transaction of a service.
 */
const lockTimeoutMs = 500
const pauseMs = 250
/** How long a migration is tried again. An export, for instance, reads the messages for minutes. */
const timeoutMs = 600_000

/**
 * Runs the missing migrations and returns their names. Any number of processes may call it at once: one does the work
 * under a lock, and the others wait. The previous version may serve meanwhile: each migration is a transaction of its
 * own. A migration that finds a table in use rolls back and begins again later. A database with migrations of a newer
 * version is not changed, because this version runs on it too. Every role gets its rights (`rights.ts`). The next call
 * revokes the rights that only the previous version needs.
 * @throws the database's error when a migration fails, or a table is in use for ten minutes. The transaction is rolled back.
 */
export async function migrate(db: Database): Promise<string[]> {
  const known = await ourMigrations.getMigrations()
  const isNew = await isUnmigrated(db)
  const newer = isNew ? {} : await findNewerMigrations(db, Object.keys(known).sort().at(-1)!)
  const names = await runMissing(db, { ...known, ...newer })
  // Only the newer version knows the rights on its tables.
  if (Object.keys(newer).length === 0) {
    const isUpgrade = !isNew && names.length > 0
    await whenTablesAreFree(() => grantRights(db, { isUpgrade }))
  }
  return names
}

async function runMissing(db: Database, migrations: Record<string, Migration>): Promise<string[]> {
  const givingWay = Object.entries(migrations).map(([name, migration]) => [name, giveWay(migration)])
  const migrator = new Migrator({ db, provider: { getMigrations: async () => Object.fromEntries(givingWay) } })
  const names: string[] = []
  for (;;) {
    const ran = await whenTablesAreFree(async () => {
      const { error, results = [] } = await migrator.migrateUp()
      if (error) throw error
      return results.map(({ migrationName }) => migrationName)
    })
    if (ran.length === 0) return names
    names.push(...ran)
  }
}

/** The same migration, with the time limit for locks. */
const giveWay = ({ up }: Migration): Migration => ({
  async up(db) {
    await sql`select set_config('lock_timeout', ${String(lockTimeoutMs)}, true)`.execute(db)
    await up(db)
  },
})

/** Repeats the work until the locks that it needs are free. */
async function whenTablesAreFree<Result>(work: () => Promise<Result>): Promise<Result> {
  const end = performance.now() + timeoutMs
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!isLockBusy(error) || performance.now() >= end) throw error
      await delay(pauseMs)
    }
  }
}

/** The migrations of a newer version, without statements. Kysely refuses a database with migrations that it does not know. */
async function findNewerMigrations(db: Database, newestOfOurs: string): Promise<Record<string, Migration>> {
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
 * Checks that every migration of this version was run. Migrations of newer versions are allowed.
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
  if (missing.length > 0) throw new Error(`migrations are missing: ${missing.join(', ')}`)
}
