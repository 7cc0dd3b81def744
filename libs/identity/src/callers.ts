import { timingSafeEqual } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  enrolmentRequired,
  forbidden,
  insufficientScope,
  type Role,
  sessionEnded,
  type TokenScope,
  unauthorized,
} from '@parley/contract'
import { isActive, isUnset, prepared, type Reader } from '@parley/database'
import DataLoader from 'dataloader'
import type { AccessClaims } from './tokens.ts'

/** The user and session on whose behalf a request runs, as they are in the database at the start of the request. */
export interface Caller {
  userId: string
  sessionId: string
  userName: string
  email: string
  role: Role
  /** Whether the role is admin. */
  isAdmin: boolean
  /** The scopes of their API token. The session of a sign-in has none, because it may do everything. */
  scopes?: readonly TokenScope[] | null
}

type Claimed = Pick<AccessClaims, 'userId' | 'sessionId' | 'tokenHash'>

interface EnrolmentOptions {
  /** Whether sessions are admitted that must set up a second factor first. */
  mayEnrol?: boolean | undefined
}

/**
 * The first statement of a request: finds whether the session is live, and what its user may do. One query by primary
 * keys. The hash of an API token is compared when it is given, so the first look-up of a request must get the claims of
 * its token. A session without a second factor is refused when the configuration requires one, unless the request helps
 * to set one up (`mayEnrol`).
 * @throws ApiError 401 when the session has ended or expired, or the user was removed or deactivated; 403 `mfa_enrolment_required`.
 */
export async function findCaller(
  db: Reader,
  claims: Claimed,
  now: number,
  options: EnrolmentOptions = {},
): Promise<Caller> {
  const [found] = await findLiveCaller(db, { ...claims, now })
  const caller = admit(found, claims, options)
  if (caller instanceof Error) throw caller
  return caller
}

type FoundCaller = Caller & { tokenHash: Buffer | null; mustEnrol: boolean }

/** The caller, or the refusal. */
function admit(
  found: FoundCaller | undefined,
  { userId, tokenHash: claimed }: Claimed,
  { mayEnrol = false }: EnrolmentOptions = {},
): Caller | Error {
  if (found?.userId !== userId) return claimed ? tokenRefused() : sessionEnded()
  const { tokenHash, mustEnrol, ...caller } = found
  if (claimed && !(tokenHash && timingSafeEqual(claimed, tokenHash))) return tokenRefused()
  if (mustEnrol && !mayEnrol) return enrolmentRequired()
  return caller
}

const tokenRefused = () => unauthorized('The token is not valid, has expired or was deleted')

const batchSize = 500

/**
 * Like `findCaller`, for many requests that arrive together, such as a thousand clients that reconnect at once: they share statements.
 * One statement runs at a time, and every request is answered by a statement that began after it arrived.
 */
export function createSharedCallers(db: Reader, clock: () => number) {
  let statement: Promise<unknown>
  let queue: Promise<unknown> = Promise.resolve()
  const loader = new DataLoader<Claimed, Caller>(
    (claims) => {
      const answers = findCallers(db, claims, clock())
      statement = answers.catch(() => {})
      return answers
    },
    {
      cache: false,
      maxBatchSize: batchSize,
      batchScheduleFn(dispatch) {
        queue = queue
          .then(() => nextTurn())
          .then(() => {
            dispatch()
            return statement
          })
      },
    },
  )
  return {
    /** @throws ApiError 401 when the session has ended or the user was removed or deactivated; 403 `mfa_enrolment_required`. */
    find: (claims: Claimed): Promise<Caller> => loader.load(claims),
  }
}

/** The caller or the refusal for each of the claims, in their order. */
async function findCallers(db: Reader, claims: readonly Claimed[], now: number): Promise<(Caller | Error)[]> {
  const sessionIds = claims.map(({ sessionId }) => sessionId)
  const found = await liveCallers(db, now)
    .where(({ eb, fn, val }) => eb('sessions.id', '=', fn.any(val(sessionIds))))
    .execute()
  const bySession = new Map(found.map((caller) => [caller.sessionId, caller]))
  return claims.map((each) => admit(bySession.get(each.sessionId), each))
}

const liveCallers = (db: Reader, now: number) =>
  db
    .selectFrom('sessions')
    .innerJoin('users', 'users.id', 'sessions.userId')
    .select(['users.id as userId', 'sessions.id as sessionId', 'userName', 'email', 'role', 'isAdmin'])
    .select(['tokenHash', 'scopes', 'mustEnrol'])
    .where(isUnset('endedAt'))
    .where('expiresAt', '>', now)
    .where(isUnset('removedAt'))
    .where(isActive(now))

const findLiveCaller = prepared((db, { sessionId, userId, now }: Claimed & { now: number }) =>
  liveCallers(db, now).where('sessions.id', '=', sessionId).where('sessions.userId', '=', userId),
)

/** @throws ApiError 403 for everybody but admins. */
export function requireAdmin(caller: Caller): void {
  if (!caller.isAdmin) throw forbidden('Only an admin may do this')
}

/** For each scope, those that contain its rights. */
const sufficientScopes: Record<TokenScope, readonly TokenScope[]> = {
  read: ['read', 'write', 'admin'],
  write: ['write', 'admin'],
  admin: ['admin'],
}

/**
 * A session of a sign-in has all scopes. With `none`, no API token is accepted. @throws ApiError 403 when the caller's API token does not
 * have the scope.
 */
export function requireScope({ scopes }: Pick<Caller, 'scopes'>, needed: TokenScope | 'none'): void {
  if (!scopes) return
  if (needed === 'none' || !scopes.some((scope) => sufficientScopes[needed].includes(scope)))
    throw insufficientScope(needed)
}
