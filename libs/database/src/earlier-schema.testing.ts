import { promises as fs } from 'node:fs'
import path from 'node:path'
import { createDatabase } from '@parley/test'
import { sql } from 'kysely'
import { FileMigrationProvider, Migrator } from 'kysely/migration'

/** A database with the schema after this migration. Its caller drops it. */
export async function createDatabaseAt(migration: string) {
  const database = await createDatabase()
  await sql`drop schema public cascade`.execute(database.db)
  await sql`create schema public`.execute(database.db)
  const migrationFolder = path.join(import.meta.dirname, 'migrations')
  const migrator = new Migrator({ db: database.db, provider: new FileMigrationProvider({ fs, path, migrationFolder }) })
  const { error } = await migrator.migrateTo(migration)
  if (error) throw error
  return database
}
