import { createHash, randomBytes } from 'node:crypto'
import type { Database } from '@parley/database'
import { insertState, takeState } from './oauth-states.queries.ts'
import type { Provider } from './providers.ts'

const lifetimeMs = 600_000

/** Seconds a person has for signing in at the provider. */
export const stateSeconds = lifetimeMs / 1000

/** What a sign-in under way is bound to. */
export interface Binding {
  provider: Pick<Provider, 'id'>
  ip: string
  now: number
}

export interface NewState {
  /** Travels through the provider and comes back. */
  state: string
  /** Stays with the browser. */
  browserSecret: string
  codeChallenge: string
}

/** Remembers for ten minutes that a sign-in has begun. */
export async function beginState(db: Database, { provider, ip, now }: Binding): Promise<NewState> {
  const [state, browserSecret, codeVerifier] = [newSecret(), newSecret(), newSecret()]
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
 * Uses a state up and answers the PKCE verifier that belongs to it. It is used up by whoever shows it, also from elsewhere:
 * from then on it is known to somebody it should not be known to. Undefined when it is unknown, used or too old, or belongs to
 * another provider, address or browser.
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
    // Digests of random values: how long comparing them takes tells nothing.
    row.browserHash.equals(digest(browserSecret))
  return isMine ? row.codeVerifier : undefined
}

// 256 bits, in 43 characters that a URL, a cookie and PKCE take as they are.
const newSecret = () => randomBytes(32).toString('base64url')
const digest = (text: string) => createHash('sha256').update(text).digest()
