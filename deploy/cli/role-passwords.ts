import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type DatabaseRole, databaseRoles } from '@parley/database'

/** Where the migration step finds the password that a role is to have. */
export const passwordFile = (role: DatabaseRole) => `database-password-${role}`

/** The passwords that lie in this folder. A role without a file keeps what it has. */
export async function readRolePasswords(directory: string): Promise<{ role: DatabaseRole; password: string }[]> {
  const found = await Promise.all(
    databaseRoles.map(async (role) => ({ role, password: await readIfThere(join(directory, passwordFile(role))) })),
  )
  return found.filter((each): each is { role: DatabaseRole; password: string } => each.password !== undefined)
}

async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return (await readFile(file, 'utf8')).trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
