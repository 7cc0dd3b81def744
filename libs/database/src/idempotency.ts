import { hash } from 'node:crypto'
import { invalid, stillRunning } from '@parley/contract'
import { sql } from 'kysely'
import type { Database, Reader, Transaction } from './connect.ts'

/** How long an `Idempotency-Key` is remembered. */
export const keyLifetimeMs = 24 * 60 * 60 * 1000

/** A request that came with an `Idempotency-Key`. */
export interface RequestKey {
  /** The person or webhook that sent it. */
  userId: string
  key: string
  /** Hash of the request as hexadecimal digits (32 bytes). Equal requests have equal hashes. */
  requestHash: string
  /** Further hashes under which the same request may be stored. */
  otherHashes?: readonly string[]
}

/** The key of a request, or null without one. `parts` are the route and all parameters of the request. */
export const claimOf = (userId: string, key: string | undefined, ...parts: unknown[]): RequestKey | null =>
  key === undefined ? null : { userId, key, requestHash: hash('sha256', JSON.stringify(parts)) }

/**
 * The key of a request with a password, or null without a key. The stored hash has the parameters only in the form of
 * `fingerprints` (see `Seals`), so it does not help to guess the password.
 */
export function claimOfFingerprints(
  userId: string,
  key: string | undefined,
  route: string,
  fingerprints: readonly [string, ...string[]],
): RequestKey | null {
  const [claim, ...others] = fingerprints.map((fingerprint) => claimOf(userId, key, route, fingerprint))
  return claim ? { ...claim, otherHashes: others.map((other) => other!.requestHash) } : null
}

/** How the stored response (the column `answer`) is converted to text and back. JSON unless given. */
export interface ResponseForm<T> {
  write(response: T): string
  /** @throws ApiError 400 when the stored response cannot be read any more. */
  read(stored: string): T
}

const asJson = { write: JSON.stringify, read: JSON.parse }

interface OnceOptions<T> {
  /** The `Idempotency-Key` of the request. Null: without one, `create` always runs. */
  claim: RequestKey | null
  /** Epoch milliseconds. */
  now: number
  form?: ResponseForm<T>
}

/**
 * Carries out a request once, in a transaction. A repeated request with the same key gets the first response. `create` does all the work
 * of the request. The key is claimed before it, so the transaction has no row locked while it does that.
 * @throws ApiError 409 when the first request is still running, 400 when the key belongs to a different request.
 */
export function once<T>(
  db: Database,
  { claim, now, form = asJson }: OnceOptions<T>,
  create: (trx: Transaction) => Promise<T>,
): Promise<T> {
  return db.transaction().execute(async (trx) => {
    if (!claim) return create(trx)
    const earlier = await claimKey(trx, claim, now)
    if (earlier !== undefined) return form.read(earlier)
    const response = await create(trx)
    await insertResponse(trx, claim, form.write(response), now)
    return response
  })
}

/**
 * The response to the first request with this key. Undefined for the first request itself, which then holds a lock on the
 * key until its transaction ends.
 * @throws ApiError 409 when the first request is still running, 400 when the key belongs to a different request.
 */
async function claimKey(trx: Transaction, claim: RequestKey, now: number): Promise<string | undefined> {
  const known = await findStoredResponse(trx, claim, now)
  if (known !== undefined) return known
  const { rows } = await sql<{ granted: boolean }>`
    select pg_try_advisory_xact_lock(hashtextextended(${claim.userId}::text || ${claim.key}::text, 0)) as granted`.execute(
    trx,
  )
  if (!rows[0]!.granted) throw stillRunning()
  // The first request may have stored its response just before it released the key.
  return findStoredResponse(trx, claim, now)
}

/** The stored response to this key, if there is one. @throws ApiError 400 when the key belongs to a different request. */
export async function findStoredResponse(
  db: Reader,
  { userId, key, requestHash, otherHashes = [] }: RequestKey,
  now: number,
): Promise<string | undefined> {
  const stored = await db
    .selectFrom('idempotencyKeys')
    .select(['requestHash', 'answer'])
    .where('userId', '=', userId)
    .where('key', '=', key)
    .where('createdAt', '>', now - keyLifetimeMs)
    .executeTakeFirst()
  if (stored && ![requestHash, ...otherHashes].includes(stored.requestHash.toString('hex'))) throw keyReused()
  return stored?.answer
}

/** Stores the response for later requests with the key, and replaces an expired one. */
async function insertResponse(trx: Transaction, claim: RequestKey, response: string, now: number): Promise<void> {
  const row = { requestHash: Buffer.from(claim.requestHash, 'hex'), answer: response, createdAt: now }
  await trx
    .insertInto('idempotencyKeys')
    .values({ userId: claim.userId, key: claim.key, ...row })
    .onConflict((conflict) => conflict.columns(['userId', 'key']).doUpdateSet(row))
    .execute()
}

/** 400: the key belongs to a different request. */
export const keyReused = () =>
  invalid('This Idempotency-Key was already used for a different request', 'idempotency_key_reused')
