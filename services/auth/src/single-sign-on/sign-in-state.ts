import { createHash, randomBytes } from 'node:crypto'
import { countAttempt, networkOf } from '@parley/accounts'
import { tooMany } from '@parley/contract'
import { type Database, deleteSomeExpired, type OauthStates } from '@parley/database'
import type { Deps } from '@parley/service'
import type { Selectable } from 'kysely'
import { SignInFailure } from './sign-in-failure.ts'

type StateRow = Selectable<OauthStates>

const lifetimeMs = 600_000

/** Seconds that a person has to sign in at the provider. */
export const stateSeconds = lifetimeMs / 1000

/** The provider and the address of a started sign-in. Its callback must have the same ones. */
export interface Binding {
  provider: { id: string }
  ip: string
  now: number
}

const cookieMark = '.cookie'

/**
 * Whether the sign-in was started with `session=cookie`. The state row has a digest of the mark too, so the browser
 * cannot change it.
 */
export const isForCookie = (browserSecret: string | undefined): boolean => browserSecret?.endsWith(cookieMark) ?? false

export interface NewState {
  /** Sent to the provider and back. */
  state: string
  /** Kept by the browser in a cookie. */
  browserSecret: string
  codeVerifier: string
  codeChallenge: string
}

/** The `nonce` of a sign-in with OpenID Connect: a digest of the verifier, so it does not reveal the verifier. */
export const nonceOf = (codeVerifier: string): string => digest(`nonce ${codeVerifier}`).toString('base64url')

/** Starts a sign-in, which stays valid for ten minutes. */
export async function beginState(
  db: Database,
  { provider, ip, now }: Binding,
  { asCookie = false } = {},
): Promise<NewState> {
  const [state, secret, codeVerifier] = [newSecret(), newSecret(), newSecret()]
  const browserSecret = asCookie ? `${secret}${cookieMark}` : secret
  const row = {
    stateHash: digest(state),
    browserHash: digest(browserSecret),
    providerId: provider.id,
    ip,
    codeVerifier,
    expiresAt: now + lifetimeMs,
  }
  await insertState(db, row, now)
  return { state, browserSecret, codeVerifier, codeChallenge: digest(codeVerifier).toString('base64url') }
}

/**
 * Consumes a state and returns its PKCE verifier. Undefined when the state is unknown, used or expired, or belongs to
 * another provider, address or browser. Such a state is consumed too, because somebody else may know it.
 */
async function consumeState(
  db: Database,
  { provider, ip, now, state, browserSecret }: Binding & { state: string; browserSecret: string | undefined },
): Promise<string | undefined> {
  const row = await takeState(db, digest(state))
  const isMine =
    row !== undefined &&
    row.expiresAt > now &&
    row.providerId === provider.id &&
    row.ip === ip &&
    browserSecret !== undefined &&
    // Digests of random values: the time of the comparison reveals nothing.
    row.browserHash.equals(digest(browserSecret))
  return isMine ? row.codeVerifier : undefined
}

/** Counts the start of a sign-in. @throws ApiError 429 when too many come from this network. */
export async function refuseTooManySignIns(deps: Pick<Deps, 'db' | 'config'>, ip: string, now: number): Promise<void> {
  const seconds = await countProviderSignIn(deps, ip, now)
  if (seconds > 0) throw tooMany(new SignInFailure('rate_limited').message, seconds)
}

/**
 * Like `consumeState`, for the callback of a sign-in. A callback without a valid state counts like the start of a
 * sign-in. @throws SignInFailure
 */
export async function requireState(
  deps: Pick<Deps, 'db' | 'config'>,
  started: Binding & { state: string | null; browserSecret: string | undefined },
): Promise<string> {
  const { state, ip, now } = started
  const codeVerifier = state ? await consumeState(deps.db, { ...started, state }) : undefined
  if (codeVerifier !== undefined) return codeVerifier
  const isTooMany = (await countProviderSignIn(deps, ip, now)) > 0
  throw new SignInFailure(isTooMany ? 'rate_limited' : 'invalid_state')
}

// 256 bits in 43 characters, which need no encoding in a URL, a cookie or PKCE.
const newSecret = () => randomBytes(32).toString('base64url')
const digest = (text: string) => createHash('sha256').update(text).digest()

/** Stores a started sign-in, and deletes a few expired ones. */
async function insertState(db: Database, state: StateRow, now: number): Promise<void> {
  await db.insertInto('oauthStates').values(state).execute()
  await deleteSomeExpired(db, 'oauthStates', now)
}

/** Deletes a started sign-in and returns it. Only one of several concurrent callers gets it. */
const takeState = (db: Database, stateHash: Buffer): Promise<StateRow | undefined> =>
  db.deleteFrom('oauthStates').where('stateHash', '=', stateHash).returningAll().executeTakeFirst()

/**
 * Counts a sign-in through a provider, for the client's network and all providers together. Returns 0, or the seconds
 * until the next one is allowed.
 */
const countProviderSignIn = ({ db, config }: Pick<Deps, 'db' | 'config'>, ip: string, now: number) =>
  countAttempt(db, { kind: 'oauth from network', most: config.oauth.attemptsPerNetwork }, networkOf(ip), now)
