import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type DatabaseRole, databaseRoles } from '@parley/database'
import { Refused } from './command.ts'

/** Where the migration step finds the password that a role is to have. */
export const passwordFile = (role: DatabaseRole) => `database-password-${role}`

/**
 * The passwords that lie in this folder, among other secrets. A role without a file keeps what it has.
 * @throws Refused when there is no such folder, when a file is named almost like one of these, or when a password is empty.
 */
export async function readRolePasswords(directory: string): Promise<{ role: DatabaseRole; password: string }[]> {
  const names = await readdir(directory).catch((error: NodeJS.ErrnoException) => {
    throw new Refused(`--passwords ${directory}: ${reasons[error.code ?? ''] ?? `it cannot be read (${error.code})`}`)
  })
  const known = new Map(databaseRoles.map((role) => [passwordFile(role), role]))
  const misnamed = names.filter((name) => !known.has(name) && isMeant(name))
  if (misnamed.length > 0) {
    throw new Refused(
      `--passwords ${directory}: ${misnamed.join(', ')} is not the password of a service. The names are ${[...known.keys()].join(', ')}`,
    )
  }
  return Promise.all(
    [...known]
      .filter(([name]) => names.includes(name))
      .map(async ([name, role]) => {
        const password = (await readFile(join(directory, name), 'utf8')).trim()
        if (password === '') throw new Refused(`--passwords ${directory}: the file ${name} is empty`)
        return { role, password }
      }),
  )
}

const reasons: Record<string, string> = {
  ENOENT: 'there is no such folder',
  ENOTDIR: 'it is a file, not a folder',
}

/** `database_password_auth`, `database-password-mesaging`, `Database-Password-worker.txt`. */
const isMeant = (name: string) => /^(?:database|db|postgres)[-_. ]?pass/i.test(name)
