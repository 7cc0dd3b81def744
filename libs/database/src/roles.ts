import { sql } from 'kysely'
import { type Database, sessionSettings, type Transaction } from './connect.ts'
import { type DatabaseRole, databaseRoles, rights, rightsOfVersionBefore, roleName } from './rights.ts'
import { lockByName } from './statements.ts'

/**
 * Gives every role exactly the rights of `rights.ts`. During an upgrade the roles keep the rights that the previous
 * version needs. Missing roles are created when this connection may do that. Otherwise only existing roles get rights,
 * and an administrator creates the others.
 */
export async function grantRights(db: Database, { isUpgrade = false } = {}): Promise<void> {
  await db.transaction().execute(async (trx) => {
    // Two processes that grant at the same time would update the same catalogue rows, and one would fail.
    await lockByName(trx, 'parley rights')
    await createMissingRoles(trx)
    for (const role of await findRoles(trx)) {
      await grantTo(trx, role, isUpgrade)
      await setSessionDefaults(trx, role)
    }
  })
}

/**
 * Sets the password of a service's role and allows it to sign in.
 * @throws the database's error when this connection may not do that.
 */
export async function setRolePassword(db: Database, role: DatabaseRole, password: string): Promise<void> {
  await sql`alter role ${sql.id(roleName(role))} login password ${sql.lit(password)}`.execute(db)
}

/** About twenty statements for each role, sent as one. */
async function grantTo(trx: Transaction, role: DatabaseRole, isUpgrade: boolean) {
  const name = roleName(role)
  const wanted = [...Object.entries(rights[role]), ...Object.entries((isUpgrade && rightsOfVersionBefore[role]) || {})]
  const grants = wanted.map(
    ([table, privileges]) =>
      `grant ${privileges} on ${privileges === 'usage' ? 'sequence' : 'table'} ${table} to ${name}`,
  )
  const statements = [
    `revoke all on all tables in schema public from ${name}`,
    `revoke all on all sequences in schema public from ${name}`,
    `grant usage on schema public to ${name}`,
    ...grants,
  ]
  await sql.raw(statements.join(';\n')).execute(trx)
}

/**
 * Sets defaults for the role's sessions in this database. They also apply behind a pooler. Where the owner of the
 * tables may not set them, an administrator must.
 */
async function setSessionDefaults(trx: Transaction, role: DatabaseRole) {
  const statements = Object.entries(sessionSettings).map(
    ([name, value]) =>
      `execute format('alter role ${roleName(role)} in database %I set ${name} = %L', current_database(), '${value}');`,
  )
  await sql
    .raw(`do $$ begin ${statements.join('\n')} exception when insufficient_privilege then null; end $$`)
    .execute(trx)
}

/** A role may exist already, because another database of the same server is migrated at the same time. */
async function createMissingRoles(trx: Transaction) {
  const statements = databaseRoles.map(roleName).map(
    (name) => `do $$ begin
      if not exists (select from pg_roles where rolname = '${name}') then create role ${name} nologin; end if;
    exception when duplicate_object or unique_violation or insufficient_privilege then null;
    end $$`,
  )
  await sql.raw(statements.join(';\n')).execute(trx)
}

async function findRoles(trx: Transaction): Promise<DatabaseRole[]> {
  const { rows } = await sql<{ rolname: string }>`
    select rolname from pg_roles where rolname = any(${databaseRoles.map(roleName)})`.execute(trx)
  return databaseRoles.filter((role) => rows.some(({ rolname }) => rolname === roleName(role)))
}
