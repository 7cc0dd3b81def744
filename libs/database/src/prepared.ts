import { createHash } from 'node:crypto'
import type { CompiledQuery } from 'kysely'
import type { Client } from 'pg'
import type { Reader } from './connect.ts'

/** Names by the text of the statement. Only `executePrepared` adds to them, so they are as many as the code has statements. */
const names = new Map<string, string>()

/**
 * Runs a statement that each connection prepares once: what requests ask again and again takes longer to parse and to plan than to
 * run. Only for statements that name their columns: PostgreSQL refuses a prepared `select *` once a migration has added one.
 */
export async function executePrepared<Row>(db: Reader, query: CompiledQuery<Row>): Promise<Row[]> {
  if (!names.has(query.sql))
    names.set(query.sql, `parley_${createHash('sha256').update(query.sql).digest('hex').slice(0, 24)}`)
  const { rows } = await db.executeQuery(query)
  return rows
}

/** Kysely knows no names of statements: they are put in here, below it. */
export function nameStatements(client: Client): void {
  const query = client.query.bind(client) as (...args: unknown[]) => unknown
  const named = (text: unknown, values?: unknown, ...rest: unknown[]) => {
    const name = typeof text === 'string' && Array.isArray(values) ? names.get(text) : undefined
    return name === undefined ? query(text, values, ...rest) : query({ name, text, values }, ...rest)
  }
  client.query = named as typeof client.query
}
