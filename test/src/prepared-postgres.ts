import { execFile } from 'node:child_process'
import { rm } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'

/** Names the directory of a PostgreSQL that is stopped and has its tables. The global set-up of the tests prepares it. */
const variable = 'TEST_PREPARED_POSTGRES'

/** Stores the directory in an environment variable, because the bench starts servers in the same way, but without vitest. */
export function announcePreparedPostgres(directory: string): void {
  process.env[variable] = directory
}

/**
 * Copies the prepared PostgreSQL to a directory. Returns whether there is one. A start with it skips the work of the
 * first start, which takes most of the time. The tests in `deploy/local` start from nothing.
 */
export async function copyPreparedPostgres(to: string): Promise<boolean> {
  const from = process.env[variable]
  if (from !== undefined) await copyServer(from, to)
  return from !== undefined
}

/** Copies the directory of a PostgreSQL that is stopped; the copy chooses its own port. Owners and modes stay. */
export async function copyServer(from: string, to: string): Promise<void> {
  await promisify(execFile)('cp', ['-a', from, to])
  for (const name of ['port', 'postgres.log']) await rm(path.join(to, name), { force: true })
}
