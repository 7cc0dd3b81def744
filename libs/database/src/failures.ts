import { DatabaseUnreachable } from './unreachable.ts'

interface PostgresError {
  code?: string
  constraint?: string
}

/** Whether the database was away, gave up (connection lost, shutting down, overloaded) or does not let us in: trying again may help. */
export function isDatabaseAway(error: unknown): boolean {
  if (error instanceof DatabaseUnreachable) return true
  const { code } = error as PostgresError
  if (code && awayCodes.has(code)) return true
  if (code?.length === 5 && code.startsWith('08')) return true
  const { message } = error as Error
  return typeof message === 'string' && awayMessages.test(message)
}

/** Whether a statement took longer than it may. */
export const isOutOfTime = (error: unknown): boolean => (error as PostgresError).code === '57014'

/** Whether a table or column is not there: the migrations have yet to be run. */
export const isSchemaMissing = (error: unknown): boolean =>
  ['42P01', '42703'].includes((error as PostgresError).code ?? '')

/** Whether a unique index refused a row; `index` narrows it to one. */
export function isDuplicate(error: unknown, index?: string): boolean {
  const { code, constraint } = error as PostgresError
  return code === '23505' && (index === undefined || constraint === index)
}

const awayCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EAI_AGAIN',
  'ENOTFOUND',
  'EHOSTUNREACH',
  '28000', // may not sign in yet: the migration step lets the roles in
  '28P01', // wrong password, or its role is not there yet
  '25006', // read only: a failover has made a standby of it
  '53100', // disk full
  '53200', // out of memory
  '53300', // too many connections
  '57P01', // terminated by administrator
  '57P02', // crash of another backend
  '57P03', // starting up or shutting down
  '57014', // statement timeout
  '25P03', // idle in transaction timeout
  '40001', // serialization failure
  '40P01', // deadlock detected
  '55P03', // lock not available
])
const awayMessages =
  /Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|not queryable/i
