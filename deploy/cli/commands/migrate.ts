import { readFile, rm } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { ensureFirstStart } from '@parley/accounts'
import type { Config } from '@parley/config'
import { type Database, DatabaseUnreachable, isDatabaseAway, migrate, setRolePassword } from '@parley/database'
import { type Command, say, UsageError } from '../command.ts'
import { withDatabase } from '../database.ts'
import { readRolePasswords } from '../role-passwords.ts'

const pauseMs = 1_000

export const migrateDatabase: Command = {
  name: 'migrate',
  summary: 'Brings the database to the schema of this version',
  details: `Safe to repeat and to run by several at once. The services of the version before run on the new schema.
With passwords the services' roles may sign in: a file database-password-<service> for each; roles without one keep what they have.
With a first password a fresh database gets its first admin. The file is removed then, and need not be there any more.`,
  options: [
    { name: 'passwords', value: 'FOLDER', description: 'Where the passwords of the roles lie' },
    { name: 'first-password', value: 'PATH', description: 'A file whose only line is the password of the first admin' },
    { name: 'wait', value: 'SECONDS', description: 'How long PostgreSQL may take until it answers; 0 unless given' },
  ],
  async run({ options, config }) {
    const patienceMs = readSeconds(options.wait ?? '0') * 1_000
    const folder = options.passwords as string | undefined
    const passwords = folder === undefined ? [] : await readRolePasswords(folder)
    const settings = await config()

    await withDatabase(settings, async ({ db }) => {
      const names = await migrateWithin(db, patienceMs)
      for (const name of names) say(`ran ${name}`)
      say(names.length === 0 ? 'The schema is up to date.' : 'The schema is up to date now.')
      await makeFirstAdmin(db, settings, options['first-password'] as string | undefined)
      // Only now may a service come in: it finds its schema complete.
      for (const { role, password } of passwords) await setRolePassword(db, role, password)
      if (folder !== undefined)
        say(`Passwords set for: ${passwords.map(({ role }) => role).join(', ') || 'no service'}.`)
    })
  },
}

/** Where the file is no more, an earlier run has made the admin. */
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

async function migrateWithin(db: Database, patienceMs: number): Promise<string[]> {
  const end = performance.now() + patienceMs
  for (;;) {
    try {
      return await migrate(db)
    } catch (error) {
      if (!isDatabaseAway(error) || performance.now() >= end) throw error
      const { message } = error as Error
      process.stderr.write(
        `${error instanceof DatabaseUnreachable ? '' : 'PostgreSQL does not answer yet: '}${message}\n`,
      )
      await delay(pauseMs)
    }
  }
}
