import { createHash, randomBytes } from 'node:crypto'
import type { Database, OauthStates } from '@parley/database'
import type { Selectable } from 'kysely'
import type { Provider } from './providers.ts'

type StateRow = Selectable<OauthStates>

/** Expired rows that one start deletes. */
const clearedAtOnce = 100

const lifetimeMs = 600_000

/** Seconds that a person has to sign in at the provider. */
export const stateSeconds = lifetimeMs / 1000

/** What a started sign-in is bound to. */
export interface Binding {
  provider: Pick<Provider, 'id'>
  ip: string
  now: number
}

const cookieMark = '.cookie'

/** Whether the sign-in was started with `session=cookie`. The state row has a digest of the mark too, so it cannot be changed. */
export const isForCookie = (browserSecret: string | undefined): boolean => browserSecret?.endsWith(cookieMark) ?? false

export interface NewState {
  /** Sent to the provider and back. */
  state: string
  /** Kept by the browser in a cookie. */
  browserSecret: string
  codeChallenge: string
}

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
  return { state, browserSecret, codeChallenge: digest(codeVerifier).toString('base64url') }
}

/**
 * Consumes a state and answers its PKCE verifier. A state from another address or browser is consumed too, because somebody else knows it
 * then. Undefined when the state is unknown, used or expired, or belongs to another provider, address or browser.
 */
export async function consumeState(
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

// 256 bits, in 43 characters that a URL, a cookie and PKCE take as they are.
const newSecret = () => randomBytes(32).toString('base64url')
const digest = (text: string) => createHash('sha256').update(text).digest()

/** Stores a started sign-in, and deletes a few expired ones. Nothing else deletes them. */
async function insertState(db: Database, state: StateRow, now: number): Promise<void> {
  await db.insertInto('oauthStates').values(state).execute()
  await db
    .deleteFrom('oauthStates')
    .where('stateHash', 'in', (given) =>
      given
        .selectFrom('oauthStates')
        .select('stateHash')
        .where('expiresAt', '<=', now)
        .orderBy('expiresAt')
        .limit(clearedAtOnce)
        .forUpdate()
        .skipLocked(),
    )
    .execute()
}

/** Deletes a started sign-in and answers it. Of several concurrent callers one gets it. */
const takeState = (db: Database, stateHash: Buffer): Promise<StateRow | undefined> =>
  db.deleteFrom('oauthStates').where('stateHash', '=', stateHash).returningAll().executeTakeFirst()
