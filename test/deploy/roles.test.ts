import { execFile } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { connectDatabase } from '@parley/database'
import { type EmbeddedServer, startPostgres } from '@parley/embedded'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { root } from './rendered.ts'

const directory = mkdtempSync(path.join(tmpdir(), 'parley-roles-'))
const secrets = path.join(directory, 'secrets')
let postgres: EmbeddedServer
/** The address of the owner, which `docs/install.md` creates. It is no superuser. */
let ownerUrl: string

// A separate server, because roles belong to the server and not to a database.
beforeAll(async () => {
  chmodSync(directory, 0o711)
  postgres = await startPostgres({ directory: path.join(directory, 'postgres'), durable: false })
  const [, documented] = /```sql\n([^`]*createrole[^`]*)```/.exec(
    readFileSync(path.join(root, 'docs/install.md'), 'utf8'),
  )!
  // The database and the superuser of this server have the name that the documentation uses.
  const statements = documented!
    .replace(/\b(role|database|owner) parley\b/g, '$1 installation')
    .split(';')
    .slice(0, -1)
  expect(statements).toHaveLength(2)
  for (const statement of statements) await execute(postgres.url, statement)
  ownerUrl = Object.assign(new URL(postgres.url), {
    username: 'installation',
    password: encodeURIComponent('…'),
    pathname: '/installation',
  }).href
})
afterAll(async () => {
  await postgres.stop()
  rmSync(directory, { recursive: true, force: true })
})

test('after the migrations each service can sign in with the secrets of the set-up, with its own rights', {
  timeout: 120_000,
}, async () => {
  await run('setup', '--directory', secrets)
  await expect(as('auth', 'select 1')).rejects.toMatchObject({ code: '28P01' })

  await run('parley', 'migrate', '--passwords', path.join(secrets, 'migrate'))
  for (const name of ['auth', 'directory', 'messaging', 'realtime', 'admin', 'integrations', 'worker']) {
    expect(await as(name, 'select current_user as name')).toEqual([{ name: `parley_${name}` }])
    await as(name, 'select name from kysely_migration')
    await expect(as(name, 'delete from audit_log')).rejects.toMatchObject({ code: '42501' })
  }
})

test('a password that is changed is so after the next migration', { timeout: 120_000 }, async () => {
  const file = path.join(secrets, 'migrate/database-password-auth')
  rmSync(file)
  writeFileSync(file, 'another')
  await run('parley', 'migrate', '--passwords', path.join(secrets, 'migrate'))
  await expect(as('auth', 'select 1')).rejects.toMatchObject({ code: '28P01' })
  await as('worker', 'select 1')
})

function as(name: string, statement: string) {
  const { host, pathname } = new URL(ownerUrl)
  const url = Object.assign(new URL(readFileSync(path.join(secrets, name, 'database-url'), 'utf8')), { host, pathname })
  return execute(url.href, statement)
}

async function execute(url: string, statement: string) {
  const connection = connectDatabase({ url, poolSize: 1, applicationName: 'roles test', onIdleError: () => {} })
  try {
    return (await sql.raw(statement).execute(connection.db)).rows
  } finally {
    await connection.close()
  }
}

const run = (...args: string[]) =>
  promisify(execFile)(process.execPath, ['deploy/image/start.ts', ...args], {
    cwd: root,
    env: { DATABASE_URL: ownerUrl },
  })
