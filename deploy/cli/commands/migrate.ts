import { setTimeout as delay } from 'node:timers/promises'
import { type Database, isDatabaseAway, letSignIn, migrate } from '@parley/database'
import { type Command, say, UsageError } from '../command.ts'
import { withDatabase } from '../database.ts'
import { readRolePasswords } from '../role-passwords.ts'

const pauseMs = 1_000

export const migrateDatabase: Command = {
  name: 'migrate',
  summary: 'Brings the database to the schema of this version',
  details: `Safe to repeat and to run by several at once. The services of the version before run on the new schema.
With passwords the services' roles may sign in: a file database-password-<service> for each; roles without one keep what they have.`,
  options: [
    { name: 'passwords', value: 'FOLDER', description: 'Where the passwords of the roles lie' },
    { name: 'wait', value: 'SECONDS', description: 'How long PostgreSQL may take until it answers; 0 unless given' },
  ],
  async run({ options, config }) {
    const patienceMs = readSeconds(options.wait ?? '0') * 1_000
    const folder = options.passwords as string | undefined
    const passwords = folder === undefined ? [] : await readRolePasswords(folder)

    await withDatabase(await config(), async ({ db }) => {
      const names = await migrateWithin(db, patienceMs)
      for (const name of names) say(`ran ${name}`)
      say(names.length === 0 ? 'The schema is up to date.' : 'The schema is up to date now.')
      // Only now may a service come in: it finds its schema complete.
      for (const { role, password } of passwords) await letSignIn(db, role, password)
    })
  },
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
      process.stderr.write(`PostgreSQL does not answer yet: ${(error as Error).message}\n`)
      await delay(pauseMs)
    }
  }
}
