import { hash } from 'node:crypto'
import { limits, stillRunning } from '@parley/contract'
import type { Transaction } from '@parley/database'
import { sql } from 'kysely'
import { Type } from 'typebox'
import type { MessageBody } from '../messages/message.fields.ts'
import { keyReused } from './refusal.ts'
import { keyLifetimeMs } from './send.statement.ts'

export const IdempotencyHeaders = Type.Object({
  'idempotency-key': Type.Optional(
    Type.String({ minLength: 1, maxLength: limits.idempotencyKey, pattern: '^[ -~\\u00a1-\\u00ff]+$' }),
  ),
})

/** The same for two requests that ask for the same message; `place` tells where, and of which kind. */
export function requestHash(
  place: string,
  { content, attachments = [], images = [], quotedMessageId }: MessageBody,
): string {
  const filenames = attachments.map(({ filename }) => filename)
  return hash('sha256', JSON.stringify([place, content, filenames, images, quotedMessageId ?? null]))
}

export interface RequestKey {
  userId: string
  key: string
  requestHash: string
}

/**
 * For what has a transaction of its own instead of the shared send statement, with the same locks: the answer that the
 * first request with this key got, or undefined for the first one, which holds the key until its transaction ends. Call
 * it before any row is locked.
 * @throws ApiError 409 when the first one is still running, 400 when it was another request.
 */
export async function claimKey(trx: Transaction, claim: RequestKey, now: number): Promise<string | undefined> {
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

async function findAnswer(trx: Transaction, { userId, key, requestHash }: RequestKey, now: number) {
  const stored = await trx
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
export async function insertAnswer(trx: Transaction, claim: RequestKey, answer: string, now: number): Promise<void> {
  const row = { requestHash: Buffer.from(claim.requestHash, 'hex'), answer, createdAt: now }
  await trx
    .insertInto('idempotencyKeys')
    .values({ userId: claim.userId, key: claim.key, ...row })
    .onConflict((conflict) => conflict.columns(['userId', 'key']).doUpdateSet(row))
    .execute()
}
