import {
  countAttempt,
  findOrCreateUser,
  findUserByEmail,
  networkOf,
  proveEmail,
  readEmail,
  type StartedSession,
} from '@parley/accounts'
import type { Config } from '@parley/config'
import { ApiError } from '@parley/contract'
import type { Transaction } from '@parley/database'
import type { Deps } from '@parley/service'
import { type SignInOrigin, signIn } from '../sessions/sign-in.ts'
import { OauthFailure } from './oauth-failure.ts'
import { consumeState } from './oauth-state.ts'
import type { Profile } from './profiles.ts'
import { exchangeCode } from './provider-client.ts'
import type { Provider } from './providers.ts'

/** What the callback address was called with. */
export interface ProviderReply {
  provider: Provider
  code: string | undefined
  state: string | undefined
  /** The provider's error code, when it refused. */
  error: string | undefined
  /** From the cookie of the browser. */
  browserSecret: string | undefined
  origin: SignInOrigin
  /** Milliseconds for all requests to the provider together. */
  timeoutMs: number
}

/**
 * The second half of a sign-in: consumes the state, exchanges the code, finds or creates the user and starts a session. Requests to the
 * provider happen outside of any transaction.
 * @throws OauthFailure
 */
export async function finishSignIn(deps: Deps, reply: ProviderReply): Promise<StartedSession> {
  const { db, config, wakeRelay } = deps
  const { provider, code, state, error, browserSecret, origin, timeoutMs } = reply
  const { ip, now } = origin

  const codeVerifier = state && (await consumeState(db, { provider, ip, now, state, browserSecret }))
  if (!codeVerifier) {
    const isTooMany = (await countOauthSignIn(deps, ip, now)) > 0
    throw new OauthFailure(isTooMany ? 'rate_limited' : 'invalid_state')
  }
  if (error) throw new OauthFailure(error === 'access_denied' ? 'access_denied' : 'provider_refused')
  if (!code) throw new OauthFailure('missing_code')

  const grant = await exchangeCode(provider, { code, codeVerifier, timeoutMs })
  const profile = await provider.readProfile(grant, provider.userInfoUrl)

  const person = { email: readProfileEmail(profile), name: profile.name }

  const session = await db.transaction().execute(async (trx) => {
    const user = await admit(trx, person, config, origin)
    await proveEmail(trx, user, origin)
    return signIn(trx, config, { userId: user.id, method: 'oauth' }, origin)
  })
  wakeRelay()
  return session
}

/** An address that is not accepted must not be corrected into another one, which might be somebody else's. */
function readProfileEmail({ email }: Profile): string {
  try {
    return readEmail(email)
  } catch (error) {
    if (error instanceof ApiError) throw new OauthFailure('unusable_email')
    throw error
  }
}

/** The user with this address. A new one is created only when no invitation is needed. */
async function admit(trx: Transaction, { email, name }: Profile, { auth, chat }: Config, { ip, now }: SignInOrigin) {
  const person = { email, userName: name, autoJoin: chat.autoJoin, ip, now }
  if (!auth.isInviteRequired) return findOrCreateUser(trx, person)
  const user = await findUserByEmail(trx, email)
  if (!user) throw new OauthFailure('not_invited')
  return user
}

/**
 * Counts an OAuth sign-in for the client's network and all providers together. Answers 0, or the seconds until the next one is allowed.
 * The start of a sign-in counts, and its callback does not. A callback without a valid state counts like a start.
 */
export const countOauthSignIn = ({ db, config }: Pick<Deps, 'db' | 'config'>, ip: string, now: number) =>
  countAttempt(db, { kind: 'oauth from network', most: config.oauth.attemptsPerNetwork }, networkOf(ip), now)
