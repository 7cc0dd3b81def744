import { readFile, rm } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { ensureFirstStart } from '@parley/accounts'
import type { Config } from '@parley/config'
import { type Database, DatabaseUnreachable, isDatabaseUnavailable, migrate, setRolePassword } from '@parley/database'
import { type Command, say, UsageError, withDatabase } from '../command.ts'
import { readRolePasswords } from '../passwords.ts'

const pauseMs = 1_000

export const migrateDatabase: Command = {
  name: 'migrate',
  summary: 'Migrates the database to the schema of this version',
  details: `Idempotent, and safe to run several times at once. The services of the previous version run on the new schema.
With --passwords the roles of the services may sign in, each with the password in the file database-password-<service>. A role without
a file keeps its password. With --first-password a fresh database gets its first admin, and the file is removed.`,
  options: [
    { name: 'passwords', value: 'FOLDER', description: 'The folder with the passwords of the roles' },
    { name: 'first-password', value: 'PATH', description: 'A file whose only line is the password of the first admin' },
    { name: 'wait', value: 'SECONDS', description: 'How long to wait for PostgreSQL; by default 0' },
  ],
  async run({ options, config }) {
    const timeoutMs = readSeconds(options.wait ?? '0') * 1_000
    const folder = options.passwords as string | undefined
    const passwords = folder === undefined ? [] : await readRolePasswords(folder)
    const settings = await config()

    await withDatabase(settings, async ({ db }) => {
      const names = await migrateWithin(db, timeoutMs)
      for (const name of names) say(`ran ${name}`)
      say(names.length === 0 ? 'The schema is up to date.' : 'The schema is up to date now.')
      await makeFirstAdmin(db, settings, options['first-password'] as string | undefined)
      // Services may sign in only now, when the schema is complete.
      for (const { role, password } of passwords) await setRolePassword(db, role, password)
      if (folder !== undefined)
        say(`Passwords set for: ${passwords.map(({ role }) => role).join(', ') || 'no service'}.`)
    })
  },
}

/** Creates the first admin. Without the file, an earlier run has created them. */
async function makeFirstAdmin(db: Database, { chat, auth, email }: Config, file: string | undefined) {
  if (file === undefined) return
  const password = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  if (password === undefined) return
  const initialUser = { ...chat.initialUser, password: password.replace(/\r?\n$/, '') }
  if (await ensureFirstStart(db, { chat: { initialUser }, auth, email }))
    say(`${initialUser.email} is the first admin.`)
  await rm(file).catch((error: NodeJS.ErrnoException) => {
    // A Secret of Kubernetes is mounted read-only.
    say(`The first password is not needed any more: delete ${file} (${error.code}).`)
  })
}

function readSeconds(text: string | boolean): number {
  if (!/^\d{1,4}$/.test(String(text))) throw new UsageError('--wait takes a number of seconds')
  return Number(text)
}

async function migrateWithin(db: Database, timeoutMs: number): Promise<string[]> {
  const end = performance.now() + timeoutMs
  for (;;) {
    try {
      return await migrate(db)
    } catch (error) {
      if (!isDatabaseUnavailable(error) || performance.now() >= end) throw error
      const { message } = error as Error
      process.stderr.write(
        `${error instanceof DatabaseUnreachable ? '' : 'PostgreSQL does not answer yet: '}${message}\n`,
      )
      await delay(pauseMs)
    }
  }
}
