import { createDatabase, type TestDatabase } from '@parley/test'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connectDatabase } from './connect.ts'
import { type DatabaseRole, databaseRoles, rights, roleName } from './rights.ts'
import { letSignIn } from './roles.ts'

/** What no service has to do with: the migrations' own tables, and what waits to be dropped. */
const nobodys = ['kysely_migration_lock', 'oauth_attempts']
const denied = '42501'

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase()
})
afterAll(() => database.drop())

/** Does something as a role would, and undoes it. Answers the code of PostgreSQL's refusal. */
const as = (role: DatabaseRole, statement: string) =>
  database.db
    .transaction()
    .execute(async (trx) => {
      await sql`set local role ${sql.id(roleName(role))}`.execute(trx)
      await sql.raw(statement).execute(trx)
      throw new Error('undo')
    })
    .catch((error: Error & { code?: string }) => (error.message === 'undo' ? 'allowed' : error.code))

describe('the roles of the services', () => {
  test('every table is somebody’s', async () => {
    const { rows } = await sql<{ name: string }>`
      select relname as name from pg_class
      where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') order by 1`.execute(database.db)
    const granted = new Set([...nobodys, ...Object.values(rights).flatMap((tables) => Object.keys(tables))])
    expect(rows.filter(({ name }) => !granted.has(name))).toEqual([])
  })

  test.each(databaseRoles)('%s has what is written down and nothing else', async (role) => {
    const { rows } = await sql<{ name: string; privileges: string[] }>`
      select relname as name, array_agg(lower(privilege_type) order by privilege_type) as privileges
      from pg_class, aclexplode(relacl) where grantee = ${roleName(role)}::regrole group by 1`.execute(database.db)
    const found = Object.fromEntries(rows.map(({ name, privileges }) => [name, privileges]))
    const written = Object.entries(rights[role]).map(([table, list]) => [
      table,
      list
        .split(', ')
        .filter((right) => !right.includes('('))
        .sort(),
    ])
    expect(found).toEqual(Object.fromEntries(written))
  })

  test.each(databaseRoles)('%s can neither change the audit log nor make tables', async (role) => {
    expect(await as(role, `update audit_log set action = 'nothing'`)).toBe(denied)
    expect(await as(role, 'delete from audit_log')).toBe(denied)
    expect(await as(role, 'truncate audit_log')).toBe(denied)
    expect(await as(role, 'create table mine (id integer)')).toBe(denied)
    expect(await as(role, 'alter table users add column mine integer')).not.toBe('allowed')
    expect(await as(role, 'drop table users')).not.toBe('allowed')
  })

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

  test('a role signs in with the password it was given, and only with that', async () => {
    const password = 'of the role, with a quote: \' and a "'
    await letSignIn(database.db, 'admin', password)
    const knock = async (password: string) => {
      const url = Object.assign(new URL(database.url), { username: roleName('admin'), password })
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
    await sql`alter role parley_admin nologin`.execute(database.db)
  })
})
