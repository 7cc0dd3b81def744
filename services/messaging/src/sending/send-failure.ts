import { isDuplicate } from '@parley/database'

/**
 * What a failed statement means for its sends:
 * - `lost`: nobody knows whether it was committed, the connection is gone.
 * - `passing`: it was rolled back for a reason that passes (a timeout, no memory).
 * - `overtaken`: it was rolled back because another process stored the same `Idempotency-Key` meanwhile.
 * - `refused`: it was rolled back because of a value in it.
 */
export type SendFailure = 'lost' | 'passing' | 'overtaken' | 'refused'

export function sendFailure(error: unknown): SendFailure {
  const { code, severity } = error as { code?: string; severity?: string }
  // Only what PostgreSQL itself reports has a severity, in its own language.
  if (severity === undefined || code === undefined) return 'lost'
  if (severity !== 'ERROR' && (fatal.has(severity) || ending.test(code))) return 'lost'
  if (passing.test(code)) return 'passing'
  return isDuplicate(error, 'idempotency_keys_pkey') ? 'overtaken' : 'refused'
}

const fatal = new Set(['FATAL', 'PANIC'])
/** What ends the connection whatever the language: shutting down, crashed, idle for too long, broken protocol or data. */
const ending = /^(57P|25P0[34]|08|XX)/
/** Serialization failure and deadlock, read only after a failover, no resources, no lock, query cancelled, system error. */
const passing = /^(40|25006|53|55P03|57014|58)/
