/**
 * Brings the schema up to date, once before the services of a new version start. Waits for a database that is still starting.
 *
 *     migrate --passwords D    gives each role for which a file lies in that folder its password (deploy/image/role-passwords.ts)
 */
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { loadConfig } from '@parley/config'
import { connectDatabase, isDatabaseAway, letSignIn, migrate } from '@parley/database'
import { reportFaults } from '@parley/service'
import { readRolePasswords } from './role-passwords.ts'

const attempts = 60
const pauseMs = 1_000

const { values } = parseArgs({ options: { passwords: { type: 'string' } } })
const config = await loadConfig({ argv: [] }).catch(reportFaults)
const { db, close } = connectDatabase({
  url: config.database.url,
  poolSize: 1,
  applicationName: 'parley-migrate',
  onIdleError: () => {},
})
try {
  const passwords = values.passwords === undefined ? [] : await readRolePasswords(values.passwords)
  const done = await insist()
  // Only now may a service come in: it finds its schema complete.
  for (const { role, password } of passwords) await letSignIn(db, role, password)
  process.stdout.write(done.length > 0 ? `Migrated: ${done.join(', ')}\n` : 'The schema is up to date\n')
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`)
  process.exitCode = 1
} finally {
  await close()
}

async function insist(): Promise<string[]> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await migrate(db)
    } catch (error) {
      if (!isDatabaseAway(error) || attempt === attempts) throw error
      process.stderr.write(`PostgreSQL does not answer yet: ${(error as Error).message}\n`)
      await delay(pauseMs)
    }
  }
}
