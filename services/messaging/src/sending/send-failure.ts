import { isDuplicate } from '@parley/database'
import type { Unanswered } from './send-outcomes.ts'
import type { Sending } from './sending.ts'

/**
 * What a failed statement means for its sends:
 * - `lost`: the connection was lost. It is not known whether the statement was committed.
 * - `transient`: it was rolled back for a temporary reason (a timeout, no memory).
 * - `overtaken`: it was rolled back because another process stored the same `Idempotency-Key` meanwhile.
 * - `refused`: it was rolled back because of a value in it.
 */
type SendFailure = 'lost' | 'transient' | 'overtaken' | 'refused'

export function sendFailure(error: unknown): SendFailure {
  const { code, severity } = error as { code?: string; severity?: string }
  // Only errors from PostgreSQL have a severity. Its text is in the language of the server.
  if (severity === undefined || code === undefined) return 'lost'
  if (severity !== 'ERROR' && (fatal.has(severity) || endsConnection.test(code))) return 'lost'
  if (transient.test(code)) return 'transient'
  return isDuplicate(error, 'idempotency_keys_pkey') ? 'overtaken' : 'refused'
}

const fatal = new Set(['FATAL', 'PANIC'])
/** These codes end the connection, in every language: shutdown, crash, idle timeout, protocol violation, corrupted data. */
const endsConnection = /^(57P|25P0[34]|08|XX)/
/** Serialization failure or deadlock, read-only after a failover, no resources, lock timeout, cancelled query, system error. */
const transient = /^(40|25006|53|55P03|57014|58)/

/** Sends a batch that was rolled back in halves, down to single sends, so that a send with a bad value does not fail the others. */
export async function sendInHalves(
  batch: readonly Sending[],
  { failure, error }: { failure: 'overtaken' | 'refused'; error: unknown },
  send: (half: readonly Sending[]) => Promise<Unanswered[]>,
): Promise<Unanswered[]> {
  if (batch.length > 1) {
    const middle = Math.ceil(batch.length / 2)
    const first = await send(batch.slice(0, middle))
    return first.concat(await send(batch.slice(middle)))
  }
  const [sending] = batch as [Sending]
  if (failure === 'overtaken') return [{ sending, outcome: undefined }]
  sending.reject(error as Error)
  return []
}
