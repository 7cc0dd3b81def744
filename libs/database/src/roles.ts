import { sql } from 'kysely'
import { type Database, sessionSettings, type Transaction } from './connect.ts'
import { type DatabaseRole, databaseRoles, rights, rightsOfVersionBefore, roleName } from './rights.ts'

/**
 * Gives every role just the rights of `rights.ts`, and takes others away; during an upgrade, when the version before still serves,
 * all but those that it needs. Roles are made where that is allowed; where it is not,
 * those that exist get their rights, and whoever administers the server makes them (without a login, they may be given to others).
 */
export async function grantRights(db: Database, { isUpgrade = false } = {}): Promise<void> {
  await db.transaction().execute(async (trx) => {
    // Rights are rows too, which two at once would trip over.
    await sql`select pg_advisory_xact_lock(hashtextextended('parley rights', 0))`.execute(trx)
    await createMissingRoles(trx)
    for (const role of await findRoles(trx)) {
      await grantTo(trx, role, isUpgrade)
      await giveSettings(trx, role)
    }
  })
}

/**
 * Lets a service sign in by its role with this password.
 * @throws the database's error when the connection may not.
 */
export async function setRolePassword(db: Database, role: DatabaseRole, password: string): Promise<void> {
  await sql`alter role ${sql.id(roleName(role))} login password ${sql.lit(password)}`.execute(db)
}

/** Some twenty statements for each role, sent as one. */
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
 * What sessions of the role begin with in this database, behind a pooler too. Whoever administers the server does it where the
 * owner of the tables may not.
 */
async function giveSettings(trx: Transaction, role: DatabaseRole) {
  const statements = Object.entries(sessionSettings).map(
    ([name, value]) =>
      `execute format('alter role ${roleName(role)} in database %I set ${name} = %L', current_database(), '${value}');`,
  )
  await sql
    .raw(`do $$ begin ${statements.join('\n')} exception when insufficient_privilege then null; end $$`)
    .execute(trx)
}

/** Two databases of one server may be migrated at once: then the other one was faster. */
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
