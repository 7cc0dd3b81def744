import { execFile } from 'node:child_process'
import { rm } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'

/** Names the directory of a PostgreSQL that is stopped and has its tables. The global set-up of the tests prepares it. */
const variable = 'TEST_PREPARED_POSTGRES'

/** By a variable of the environment, because the bench, which starts servers in the same way, runs without vitest. */
export function announcePreparedPostgres(directory: string): void {
  process.env[variable] = directory
}

/**
 * Puts the prepared PostgreSQL there; answers whether there is one. A start on it skips what only the first start does, which takes most
 * of its time. The tests in `deploy/local` start from nothing.
 */
export async function copyPreparedPostgres(to: string): Promise<boolean> {
  const from = process.env[variable]
  if (from !== undefined) await copyServer(from, to)
  return from !== undefined
}

/** Copies the directory of a PostgreSQL that is stopped; the copy chooses a port of its own. Owners and modes stay. */
export async function copyServer(from: string, to: string): Promise<void> {
  await promisify(execFile)('cp', ['-a', from, to])
  for (const name of ['port', 'postgres.log']) await rm(path.join(to, name), { force: true })
}
