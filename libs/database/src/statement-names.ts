import { createHash } from 'node:crypto'
import type { Client } from 'pg'

/** By the text of the statement. Only `prepared.ts` adds to them, so they are as many as the code has statements. */
const names = new Map<string, string>()

/** From now on every connection prepares this statement. */
export function nameStatement(text: string): void {
  if (!names.has(text)) names.set(text, `parley_${createHash('sha256').update(text).digest('hex').slice(0, 24)}`)
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

/** Takes away the names that single statements bring along: a pooler may give the next one to a connection that does not know it. */
export function leaveOutNames(client: Client): void {
  const query = client.query.bind(client) as (...args: unknown[]) => unknown
  const unnamed = (config: unknown, ...rest: unknown[]) =>
    query(
      typeof config === 'object' && config !== null && 'name' in config ? { ...config, name: undefined } : config,
      ...rest,
    )
  client.query = unnamed as typeof client.query
}
