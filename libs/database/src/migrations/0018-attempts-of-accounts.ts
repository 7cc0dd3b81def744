import { type Kysely, sql } from 'kysely'

/**
 * Wrong passwords are counted for an account and a network together, so one account has many counters. This column names the
 * account, so that a new password can delete all its counters. It is null when the counter is about no account.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw('alter table attempts add column account text').execute(db)
  await sql.raw('create index attempts_of_account on attempts (account)').execute(db)
}
