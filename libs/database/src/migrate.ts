import { promises as fs } from 'node:fs'
import path from 'node:path'

import { FileMigrationProvider, Migrator } from 'kysely/migration'
import type { Database } from './connect.ts'

/**
 * Brings the database to the newest schema and returns the names of the migrations that were run. Runs under a lock:
 * any number of processes may call it at once, one does the work and the others wait.
 * @throws the database's error when a migration fails; its transaction is rolled back.
 */
export async function migrate(db: Database): Promise<string[]> {
  const migrator = new Migrator({
    db,
    provider: new FileMigrationProvider({ fs, path, migrationFolder: path.join(import.meta.dirname, 'migrations') }),
  })
  const { error, results } = await migrator.migrateToLatest()
  if (error) throw error
  return (results ?? []).map(({ migrationName }) => migrationName)
}
