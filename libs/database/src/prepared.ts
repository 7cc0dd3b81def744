import { CompiledQuery } from 'kysely'
import type { Reader } from './connect.ts'
import { nameStatement } from './statement-names.ts'

/**
 * Runs a statement that each connection prepares once: what requests ask again and again takes longer to parse and to plan than to
 * run. Only for statements that name their columns: PostgreSQL refuses a prepared `select *` once a migration has added one.
 */
export async function executePrepared<Row>(db: Reader, query: CompiledQuery<Row>): Promise<Row[]> {
  nameStatement(query.sql)
  const { rows } = await db.executeQuery(query)
  return rows
}

/**
 * The same for what nearly every request asks: Kysely writes it once as well, which costs this process about as much as asking
 * does. `write` sees placeholders in place of values, so it may hand them on and nothing else.
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
