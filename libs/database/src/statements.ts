import { CompiledQuery, sql } from 'kysely'
import { nameStatement, type Reader, type Transaction } from './connect.ts'

/**
 * For `where('id', '=', anyOf(ids))`: one parameter for any number of row ids. With `in` each id would be a parameter,
 * and a statement can have at most 65,535.
 */
export const anyOf = (ids: readonly string[]) => sql<string>`any(${ids}::uuid[])`

/**
 * `is null` for a timestamp column of a row that is looked up by its id. With a plain `is null` PostgreSQL may scan a
 * partial index of all such rows (`users_live_name`, `sessions_active`): while the table is small, that looks as cheap
 * as the look-up, and a prepared statement keeps the plan when the table grows.
 */
export const isUnset = (column: string) => sql<boolean>`coalesce(${sql.ref(column)}, 0) = 0`

/**
 * Takes a lock that is no row: until the transaction ends, other transactions that take the lock of this name wait. All
 * services share the names.
 */
export async function lockByName(trx: Transaction, name: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`.execute(trx)
}

/** Takes the lock of `lockByName` only if no other transaction has it, without waiting. Returns whether it was taken. */
export async function tryLockByName(trx: Transaction, name: string): Promise<boolean> {
  const { rows } = await sql<{ isTaken: boolean }>`
    select pg_try_advisory_xact_lock(hashtextextended(${name}, 0)) as is_taken`.execute(trx)
  return rows[0]!.isTaken
}

/** Like `lockByName`, but transactions that share the lock wait only for those that take it with `lockByName`. */
export async function shareLockByName(trx: Transaction, name: string): Promise<void> {
  await sql`select pg_advisory_xact_lock_shared(hashtextextended(${name}, 0))`.execute(trx)
}

/**
 * Runs a statement that each connection prepares once, because frequent statements take longer to parse and plan than
 * to run. The statement must name its columns: PostgreSQL refuses a prepared `select *` after a migration has added a
 * column.
 */
export async function executePrepared<Row>(db: Reader, query: CompiledQuery<Row>): Promise<Row[]> {
  nameStatement(query.sql)
  const { rows } = await db.executeQuery(query)
  return rows
}

/**
 * Like `executePrepared`, for statements of nearly every request. Kysely also compiles such a statement only once,
 * because compiling takes about as long as the query. `write` gets placeholders instead of values: it may pass them on,
 * but not read them.
 */
export function prepared<Input extends object, Row>(
  write: (db: Reader, input: Input) => { compile(db: Reader): CompiledQuery<Row> },
): (db: Reader, input: Input) => Promise<Row[]> {
  let written: CompiledQuery<Row> | undefined
  const placeholders = new Proxy({} as Input, { get: (_, key) => new Placeholder(key) })

  return (db, input) => {
    written ??= write(db, placeholders).compile(db)
    const values = written.parameters.map((value) => (value instanceof Placeholder ? input[value.key as never] : value))
    return executePrepared(db, CompiledQuery.raw(written.sql, values) as CompiledQuery<Row>)
  }
}

class Placeholder {
  readonly key: PropertyKey
  constructor(key: PropertyKey) {
    this.key = key
  }
}

/**
 * Tables with an index on the column `expires_at`, by their primary keys. Only `deleteSomeExpired` deletes expired rows
 * from them.
 */
const expiring = {
  oauthStates: 'stateHash',
  webauthnChallenges: 'challengeHash',
  mfaAttempts: 'tokenHash',
  usedTokens: 'digest',
} as const

/**
 * Deletes up to 100 rows that have expired at `now`, the oldest first. Call it with each new row, so that the table
 * stays small. Rows that another transaction has locked are skipped.
 */
export async function deleteSomeExpired(db: Reader, table: keyof typeof expiring, now: number): Promise<void> {
  const [from, key] = [sql.table(table), sql.ref(expiring[table])]
  await sql`
    delete from ${from} where ${key} in (
      select ${key} from ${from} where expires_at <= ${now} order by expires_at limit 100 for update skip locked)`.execute(
    db,
  )
}
