import { type ApiToken, forbidden, invalid, limits, nobody, type TokenScope } from '@parley/contract'
import { audit, isRowId, type Reader, recordControl, type Transaction, uuidv7 } from '@parley/database'
import { createApiToken, findCaller } from '@parley/identity'
import { readName } from './names.ts'
import { lockUser, type RequestContext } from './users.ts'

/** Tokens that one person or bot may have. */
const maxTokens = 100
/** The largest number that JavaScript counts exactly stands for "never". */
const never = Number.MAX_SAFE_INTEGER

export interface NewApiToken {
  userId: string
  name: string
  scopes: readonly TokenScope[]
  /** Epoch milliseconds; absent: never. */
  expiresAt?: number
}

/**
 * Creates an API token for a person or a bot. It is a session without a refresh token, so that it ends as sessions do.
 * Only this function returns the text of the token. The database has its hash.
 * @throws ApiError 400 when the name, the expiry or the number of tokens is refused or the account is deactivated, 403 when only an admin
 * may have the scope, 401 when the person was removed in the meantime.
 */
export async function createToken(
  trx: Transaction,
  { userId, expiresAt = never, ...input }: NewApiToken,
  { caller, ip, now }: RequestContext,
): Promise<ApiToken & { token: string }> {
  const name = readName(input.name, 'name', limits.tokenName)
  const scopes = [...new Set(input.scopes)]
  if (expiresAt <= now) throw invalid('expiresAt must be in the future')
  const owner = await lockUser(trx, userId)
  if (owner.deactivatedAt !== null) throw invalid('This account is deactivated. Please activate it first')
  // When a person ends their sessions because one was stolen, the stolen session must not be able to leave a token
  // behind.
  await findCaller(trx, caller, now)
  if (scopes.includes('admin') && !owner.isAdmin) throw forbidden('Only an admin may have a token with the scope admin')
  const existing = await listTokens(trx, userId, now)
  if (existing.length >= maxTokens) throw invalid(`At most ${maxTokens} tokens are possible. Please delete one first`)

  const id = uuidv7()
  const { token, tokenHash } = createApiToken({ tokenId: id, userId })
  const row = { id, userId, createdAt: now, lastUsedAt: 0, expiresAt, ip, tokenHash, tokenName: name, scopes }
  await trx.insertInto('sessions').values(row).execute()
  await audit(trx, {
    action: 'token.create',
    actorId: caller.userId,
    targetType: 'token',
    targetId: id,
    metadata: { name, scopes, userId, ...(expiresAt !== never && { expiresAt }) },
    ip,
  })
  return { ...viewOf(row), token }
}

/** The live tokens of a person or bot, newest first. */
export async function listTokens(db: Reader, userId: string, now: number): Promise<ApiToken[]> {
  const rows = await liveSessionsOf(db, userId, now)
    .select(['id', 'tokenName', 'scopes', 'createdAt', 'lastUsedAt', 'expiresAt'])
    .where('tokenHash', 'is not', null)
    .execute()
  return rows.map(viewOf)
}

/** The live sessions and API tokens of a person, newest first. Served by the index sessions_active. */
export const liveSessionsOf = (db: Reader, userId: string, now: number) =>
  db
    .selectFrom('sessions')
    .where('userId', '=', userId)
    .where('endedAt', 'is', null)
    .where('expiresAt', '>', now)
    .orderBy('createdAt', 'desc')
    .orderBy('id', 'desc')

/** Deletes a token. With the commit its requests are refused and its streams end. Returns whether there was such a token. */
export async function deleteToken(
  trx: Transaction,
  { userId, tokenId }: { userId: string; tokenId: string },
  { caller, ip, now }: RequestContext,
): Promise<boolean> {
  if (!isRowId(tokenId)) return false
  const ended = await trx
    .updateTable('sessions')
    .set({ endedAt: now })
    .where('id', '=', tokenId)
    .where('userId', '=', userId)
    .where('tokenHash', 'is not', null)
    .where('endedAt', 'is', null)
    .where('expiresAt', '>', now)
    .returning('tokenName')
    .executeTakeFirst()
  if (!ended) return false
  await recordControl(trx, { ...nobody, endSessions: [tokenId] })
  await auditDeletedToken(trx, { tokenId, name: ended.tokenName, userId, actorId: caller.userId, ip })
  return true
}

/** Records the end of a token in the audit log. */
export const auditDeletedToken = (
  trx: Transaction,
  end: { tokenId: string; name: string | null; userId: string; actorId: string; ip: string | null; reason?: string },
): Promise<void> =>
  audit(trx, {
    action: 'token.delete',
    actorId: end.actorId,
    targetType: 'token',
    targetId: end.tokenId,
    metadata: { name: end.name, userId: end.userId, ...(end.reason && { reason: end.reason }) },
    ip: end.ip,
  })

interface TokenRow {
  id: string
  tokenName: string | null
  scopes: TokenScope[] | null
  createdAt: number
  lastUsedAt: number
  expiresAt: number
}

const viewOf = ({ id, tokenName, scopes, createdAt, lastUsedAt, expiresAt }: TokenRow): ApiToken => ({
  id,
  name: tokenName!,
  scopes: scopes!,
  createdAt,
  lastUsedAt: lastUsedAt === 0 ? null : lastUsedAt,
  expiresAt: expiresAt === never ? null : expiresAt,
})
