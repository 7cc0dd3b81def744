import { sessionEnded, stillRunning } from '@parley/contract'
import { type Connection, keyLifetimeMs, keyReused } from '@parley/database'
import type { SendRequest } from './sending.ts'

interface StoredAnswer {
  answer: string | null
  isSame: boolean | null
}

/**
 * What a request is told while another one with its key is under way in this process: that one may itself be a repeat,
 * and then the first answer is there already.
 * @throws ApiError 401, 400 (the key was used for another request), 409 (the first request is still running).
 */
export async function findStoredAnswer(
  pool: Connection['pool'],
  { caller, idempotency }: SendRequest,
  now: number,
): Promise<string> {
  const { rows } = await pool.query<StoredAnswer>(
    `select k.answer, k.request_hash = decode($4, 'hex') as "isSame"
     from sessions s
       join users u on u.id = s.user_id and coalesce(u.removed_at, 0) = 0
       left join idempotency_keys k on k.user_id = u.id and k.key = $3 and k.created_at > $5
     where s.id = $1 and s.user_id = $2 and coalesce(s.ended_at, 0) = 0 and s.expires_at > $6`,
    [caller.sessionId, caller.userId, idempotency?.key, idempotency?.requestHash, now - keyLifetimeMs, now],
  )
  const [found] = rows
  if (!found) throw sessionEnded()
  if (found.answer === null) throw stillRunning()
  if (!found.isSame) throw keyReused()
  return found.answer
}
