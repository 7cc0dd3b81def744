import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { lengthOf, limits } from '@parley/contract'
import { type DatabaseRole, databaseRoles } from '@parley/database'
import { Refused } from './command.ts'

/**
 * Reads a new password from the file, or from the terminal (typed twice, not shown), or from standard input when it is
 * not a terminal. One newline at its end is dropped. It is never read from the command line, because every user of the
 * machine can see that.
 * @throws Refused when it is too short or too long, or the two entries differ.
 */
export async function readNewPassword(file: string | undefined): Promise<string> {
  const password = await readOnce(file)
  const { shortestPassword, password: longest } = limits
  if (lengthOf(password) < shortestPassword)
    throw new Refused(`the password must have at least ${shortestPassword} characters`)
  if (lengthOf(password) > longest)
    throw new Refused(`the password must have at most ${longest.toLocaleString('en')} characters`)
  if (/[\0\r\n]/.test(password)) throw new Refused('the password must be one line of text')
  return password
}

async function readOnce(file: string | undefined): Promise<string> {
  if (file !== undefined) return (await readFile(file, 'utf8')).replace(/\r?\n$/, '')
  if (!process.stdin.isTTY) return (await text(process.stdin)).replace(/\r?\n$/, '')
  const password = await ask('Password: ')
  if ((await ask('Once more: ')) !== password) throw new Refused('the two passwords differ')
  return password
}

/** Asks for a password without an echo on the terminal. */
async function ask(question: string): Promise<string> {
  const nothing = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({ input: process.stdin, output: nothing, terminal: true })
  const interruption = new AbortController()
  lines.on('SIGINT', () => interruption.abort())
  lines.on('close', () => interruption.abort())
  process.stderr.write(question)
  try {
    return await lines.question('', { signal: interruption.signal })
  } catch {
    throw new Refused('nothing was changed')
  } finally {
    lines.close()
    process.stderr.write('\n')
  }
}

/** The name of the file with a role's password. */
export const passwordFile = (role: DatabaseRole) => `database-password-${role}`

/**
 * The passwords of the roles in this folder, which may contain other secrets too.
 * @throws Refused when the folder is missing, when a file name looks like a misspelt one of these, or when a password is empty.
 */
export async function readRolePasswords(directory: string): Promise<{ role: DatabaseRole; password: string }[]> {
  const names = await readdir(directory).catch((error: NodeJS.ErrnoException) => {
    throw new Refused(`--passwords ${directory}: ${reasons[error.code ?? ''] ?? `it cannot be read (${error.code})`}`)
  })
  const known = new Map(databaseRoles.map((role) => [passwordFile(role), role]))
  const misnamed = names.filter((name) => !known.has(name) && isMisspelt(name))
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
const isMisspelt = (name: string) => /^(?:database|db|postgres)[-_. ]?pass/i.test(name)
