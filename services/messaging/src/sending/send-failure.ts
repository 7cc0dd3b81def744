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
  // Only what PostgreSQL itself reports has a severity; FATAL and PANIC end the connection.
  const { code, severity } = error as { code?: string; severity?: string }
  if (severity !== 'ERROR' || code === undefined) return 'lost'
  if (passing.test(code)) return 'passing'
  return isDuplicate(error, 'idempotency_keys_pkey') ? 'overtaken' : 'refused'
}

/** Serialization failure and deadlock, insufficient resources, lock not available, query cancelled, system error. */
const passing = /^(40|53|55P03|57014|58)/
