import { findOrCreateUser, findUserByEmail, proveEmail, readEmail, type StartedSession } from '@parley/accounts'
import { ApiError } from '@parley/contract'
import type { Transaction } from '@parley/database'
import type { Deps } from '@parley/service'
import { type SignInOrigin, signIn } from '../sessions/sign-in.ts'
import { countOauthAttempt } from './oauth-attempts.ts'
import { OauthFailure } from './oauth-failure.ts'
import { consumeState } from './oauth-state.ts'
import type { Profile } from './profiles.ts'
import { exchangeCode } from './provider-client.ts'
import type { Provider } from './providers.ts'

/** What a provider sent the browser back with. */
export interface ProviderReply {
  provider: Provider
  code: string | undefined
  state: string | undefined
  /** Why the provider let nobody in. */
  error: string | undefined
  /** From the cookie of the browser. */
  browserSecret: string | undefined
  origin: SignInOrigin
  /** Milliseconds for all that the provider is asked. */
  patienceMs: number
}

/**
 * The second half of a sign-in: the state is used up, the code exchanged, the person looked up or created, a session
 * started. The provider is asked outside of any transaction.
 * @throws OauthFailure
 */
export async function finishSignIn(deps: Deps, reply: ProviderReply): Promise<StartedSession> {
  const { db, config, wakeRelay } = deps
  const { provider, code, state, error, browserSecret, origin, patienceMs } = reply
  const { ip, now } = origin

  const codeVerifier = state && (await consumeState(db, { provider, ip, now, state, browserSecret }))
  if (!codeVerifier) {
    const isTooMany = (await countOauthAttempt(deps, ip, now)) > 0
    throw new OauthFailure(isTooMany ? 'rate_limited' : 'invalid_state')
  }
  if (error) throw new OauthFailure(error === 'access_denied' ? 'access_denied' : 'provider_refused')
  if (!code) throw new OauthFailure('missing_code')

  const grant = await exchangeCode(provider, { code, codeVerifier, patienceMs })
  const profile = await provider.readProfile(grant, provider.userInfoUrl)

  const person = { email: readProfileEmail(profile), name: profile.name }

  const session = await db.transaction().execute(async (trx) => {
    const user = await admit(trx, person, config.auth.isInviteRequired, origin)
    await proveEmail(trx, user, origin)
    return signIn(trx, config, { userId: user.id, method: 'oauth' }, origin)
  })
  wakeRelay()
  return session
}

/** A verified address that is refused here must not be read as another one, which might be somebody else's. */
function readProfileEmail({ email }: Profile): string {
  try {
    return readEmail(email)
  } catch (error) {
    if (error instanceof ApiError) throw new OauthFailure('unusable_email')
    throw error
  }
}

/** Whoever is known by the address may come in, strangers only when no invitation is needed. */
async function admit(trx: Transaction, { email, name }: Profile, isInviteRequired: boolean, { ip, now }: SignInOrigin) {
  if (!isInviteRequired) return findOrCreateUser(trx, { email, userName: name, ip, now })
  const user = await findUserByEmail(trx, email)
  if (!user) throw new OauthFailure('not_invited')
  return user
}
