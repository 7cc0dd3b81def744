import { type Kysely, sql } from 'kysely'

/**
 * API tokens of people and bots. A token is a session without a refresh token: what checks and ends sessions and their
 * streams does the same for tokens. `last_used_at` is 0 until the first use, and the largest number that JavaScript
 * counts exactly is no expiry.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `alter table sessions
     add column token_hash bytea,
     add column token_name text,
     add column scopes text[]`,
]
