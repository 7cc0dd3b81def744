import { createDatabase, createDatabaseApart, type TestDatabase } from '@parley/test'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { connectDatabase } from './connect.ts'
import { type DatabaseRole, databaseRoles, rights, rightsOfVersionBefore, roleName } from './rights.ts'
import { grantRights, setRolePassword } from './roles.ts'

/** Tables that no service uses: those of the migrations, and those that a later version drops. */
const nobodys = ['kysely_migration_lock', 'oauth_attempts']
const denied = '42501'

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase()
})
afterAll(() => database.drop())

/** Runs work as the role, and rolls it back. Returns the code of PostgreSQL's error. */
const as = (role: DatabaseRole, statement: string) =>
  database.db
    .transaction()
    .execute(async (trx) => {
      await sql`set local role ${sql.id(roleName(role))}`.execute(trx)
      await sql.raw(statement).execute(trx)
      throw new Error('undo')
    })
    .catch((error: Error & { code?: string }) => (error.message === 'undo' ? 'allowed' : error.code))

/** `select (a, b), insert` is `select a`, `select b` and `insert`. */
const eachRight = (list: string) =>
  [...list.matchAll(/(\w+)(?: \(([^)]+)\))?/g)].flatMap(([, right, columns]) =>
    columns ? columns.split(', ').map((column) => `${right} ${column}`) : [right!],
  )

describe('the roles of the services', () => {
  test('every table is used by a service', async () => {
    const { rows } = await sql<{ name: string }>`
      select relname as name from pg_class
      where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') order by 1`.execute(database.db)
    const granted = new Set([...nobodys, ...Object.values(rights).flatMap((tables) => Object.keys(tables))])
    expect(rows.filter(({ name }) => !granted.has(name))).toEqual([])
  })

  test.each(databaseRoles)('%s has exactly the rights of rights.ts', async (role) => {
    const { rows } = await sql<{ name: string; privileges: string[] }>`
      select name, array_agg(privilege order by privilege) as privileges from (
        select relname as name, lower(privilege_type) as privilege
        from pg_class, aclexplode(relacl) where grantee = ${roleName(role)}::regrole
        union all
        select relname, lower(privilege_type) || ' ' || attname
        from pg_class join pg_attribute on attrelid = pg_class.oid, aclexplode(attacl) where grantee = ${roleName(role)}::regrole
      ) found group by 1`.execute(database.db)
    const found = Object.fromEntries(rows.map(({ name, privileges }) => [name, privileges.sort()]))
    const written = Object.entries(rights[role]).map(([table, list]) => [table, eachRight(list).sort()])
    expect(found).toEqual(Object.fromEntries(written))
  })

  test.each(databaseRoles)('%s can neither change the audit log nor create tables', async (role) => {
    expect(await as(role, `update audit_log set action = 'nothing'`)).toBe(denied)
    expect(await as(role, 'delete from audit_log')).toBe(denied)
    expect(await as(role, 'truncate audit_log')).toBe(denied)
    expect(await as(role, 'create table mine (id integer)')).toBe(denied)
    expect(await as(role, 'alter table users add column mine integer')).not.toBe('allowed')
    expect(await as(role, 'drop table users')).not.toBe('allowed')
  })

  test.each(databaseRoles.filter((role) => role !== 'auth' && role !== 'directory'))(
    '%s reads people without their password hashes, while the version before still may during an upgrade',
    async (role) => {
      const askHash = () => as(role, 'select password_hash from users')
      expect([await askHash(), await as(role, 'select * from users')]).toEqual([denied, denied])
      expect(await as(role, 'select id, user_name, email, is_admin from users')).toBe('allowed')

      await grantRights(database.db, { isUpgrade: true })
      expect(await as(role, 'select * from users')).toBe(rightsOfVersionBefore[role]?.users ? 'allowed' : denied)
      await grantRights(database.db)
      expect(await askHash()).toBe(denied)
    },
  )

  test.each<[DatabaseRole, string]>([
    ['realtime', `update sessions set ended_at = null`],
    ['realtime', `insert into outbox (id, slot, routing, created_at) values (1, 0, '{}', 1)`],
    ['messaging', `update users set is_admin = true`],
    ['messaging', `update users set password_hash = null`],
    ['messaging', 'delete from messages'],
    ['messaging', 'select * from one_time_links'],
    ['admin', 'update users set is_admin = true'],
    ['admin', 'select * from messages'],
    ['admin', 'select * from oauth_states'],
    ['directory', 'update messages set content = null'],
    ['directory', 'select * from oauth_states'],
    ['auth', 'select * from messages'],
    ['auth', 'select * from webhooks'],
    ['worker', 'update users set is_admin = true'],
    ['worker', 'update channel_members set joined_at = 1'],
    ['worker', `insert into messages (id) values (null)`],
  ])('%s cannot: %s', async (role, statement) => {
    expect(await as(role, statement)).toBe(denied)
  })

  test('migrating sets the session settings of every role, in this database alone', async () => {
    await grantRights(database.db)
    const { rows } = await sql<{ role: string; settings: string[] }>`
      select setrole::regrole::text as role, setconfig as settings from pg_db_role_setting
      where setdatabase = (select oid from pg_database where datname = current_database())`.execute(database.db)
    const settings = [
      'enable_seqscan=off',
      'enable_bitmapscan=off',
      'jit=off',
      'statement_timeout=30000',
      'idle_in_transaction_session_timeout=30000',
    ]
    expect(rows.toSorted((a, b) => (a.role < b.role ? -1 : 1))).toEqual(
      databaseRoles.map((role) => ({ role: roleName(role), settings })).toSorted((a, b) => (a.role < b.role ? -1 : 1)),
    )
  })

  test('a role signs in only with the password that was set', async () => {
    const password = 'of the role, with a quote: \' and a "'
    // Roles belong to the server, which other tests use too, so this test has its own server.
    const apart = await createDatabaseApart(1)
    onTestFinished(apart.drop)
    await setRolePassword(apart.db, 'admin', password)
    const knock = async (password: string) => {
      const url = Object.assign(new URL(apart.url), { username: roleName('admin'), password })
      const options = { poolSize: 1, applicationName: 'roles', onIdleError: () => {} }
      const { db, close } = connectDatabase({ url: url.href, ...options })
      const asked = sql<{ user: string }>`select current_user as user`.execute(db)
      return asked
        .then(
          ({ rows }) => rows[0]!.user,
          (error) => error.code,
        )
        .finally(close)
    }
    expect(await knock(password)).toBe('parley_admin')
    expect(await knock('another')).toBe('28P01')
  })
})
