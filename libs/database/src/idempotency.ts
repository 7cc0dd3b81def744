import { hash } from 'node:crypto'
import { invalid, stillRunning } from '@parley/contract'
import { sql } from 'kysely'
import type { Reader, Transaction } from './connect.ts'

/** How long an `Idempotency-Key` is remembered. */
export const keyLifetimeMs = 24 * 60 * 60 * 1000

/** A request that came with an `Idempotency-Key`. */
export interface RequestKey {
  /** Whose key it is: a person, or a webhook. */
  userId: string
  key: string
  /** 32 bytes as hexadecimal digits: the same for two requests that ask for the same. */
  requestHash: string
}

/** The claim of a request on its key, or null for one that has none. `parts` are what it asks for, and of which route. */
export const claimOf = (userId: string, key: string | undefined, ...parts: unknown[]): RequestKey | null =>
  key === undefined ? null : { userId, key, requestHash: hash('sha256', JSON.stringify(parts)) }

/** How an answer is kept that is not kept as its JSON text. */
export interface AnswerForm<T> {
  write(answer: T): string
  /** @throws ApiError 400 when it cannot be read any more. */
  read(stored: string): T
}

const asJson = { write: JSON.stringify, read: JSON.parse }

/**
 * Carries a request out once: whoever repeats it with its key gets the first answer. Call it before the transaction locks any row, and let
 * `create` do everything else.
 * @throws ApiError 409 when the first one is still running, 400 when it was another request.
 */
export async function once<T>(
  trx: Transaction,
  claim: RequestKey | null,
  now: number,
  create: (trx: Transaction) => Promise<T>,
  form: AnswerForm<T> = asJson,
): Promise<T> {
  if (!claim) return create(trx)
  const earlier = await claimKey(trx, claim, now)
  if (earlier !== undefined) return form.read(earlier)
  const answer = await create(trx)
  await insertAnswer(trx, claim, form.write(answer), now)
  return answer
}

/**
 * The answer that the first request with this key got, or undefined for the first one, which holds the key until its
 * transaction ends.
 * @throws ApiError 409 when the first one is still running, 400 when it was another request.
 */
async function claimKey(trx: Transaction, claim: RequestKey, now: number): Promise<string | undefined> {
  const known = await findAnswer(trx, claim, now)
  if (known !== undefined) return known
  const { rows } = await sql<{ granted: boolean }>`
    select pg_try_advisory_xact_lock(hashtextextended(${claim.userId}::text || ${claim.key}::text, 0)) as granted`.execute(
    trx,
  )
  if (!rows[0]!.granted) throw stillRunning()
  // It may have been answered just before it let go of the key.
  return findAnswer(trx, claim, now)
}

/** What the first request with this key was answered, if it is over. @throws ApiError 400 when it was another request. */
export async function findAnswer(
  db: Reader,
  { userId, key, requestHash }: RequestKey,
  now: number,
): Promise<string | undefined> {
  const stored = await db
    .selectFrom('idempotencyKeys')
    .select(['requestHash', 'answer'])
    .where('userId', '=', userId)
    .where('key', '=', key)
    .where('createdAt', '>', now - keyLifetimeMs)
    .executeTakeFirst()
  if (stored && stored.requestHash.toString('hex') !== requestHash) throw keyReused()
  return stored?.answer
}

/** Keeps the answer for later requests with the key, in the place of one that has outlived its time. */
async function insertAnswer(trx: Transaction, claim: RequestKey, answer: string, now: number): Promise<void> {
  const row = { requestHash: Buffer.from(claim.requestHash, 'hex'), answer, createdAt: now }
  await trx
    .insertInto('idempotencyKeys')
    .values({ userId: claim.userId, key: claim.key, ...row })
    .onConflict((conflict) => conflict.columns(['userId', 'key']).doUpdateSet(row))
    .execute()
}

export const keyReused = () =>
  invalid('This Idempotency-Key was already used for a different request', 'idempotency_key_reused')
