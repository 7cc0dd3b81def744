import {
  countAttempt,
  findOrCreateUser,
  findUserByEmail,
  issueTokens,
  networkOf,
  proveEmail,
  readEmail,
} from '@parley/accounts'
import type { Tokens } from '@parley/contract'
import type { Transaction } from '@parley/database'
import type { Deps } from '@parley/service'
import { type SignInOrigin, signIn } from '../sessions/sign-in.ts'
import { attemptsOfNetwork } from './oauth-attempts.ts'
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
export async function finishSignIn(deps: Deps, reply: ProviderReply): Promise<Tokens> {
  const { db, config, tokens, wakeRelay } = deps
  const { provider, code, state, error, browserSecret, origin, patienceMs } = reply
  const { ip, now } = origin

  if ((await countAttempt(db, attemptsOfNetwork, networkOf(ip), now)) > 0) throw new OauthFailure('rate_limited')
  if (!state) throw new OauthFailure('invalid_state')
  const codeVerifier = await consumeState(db, { provider, ip, now, state, browserSecret })
  if (error) throw new OauthFailure(error === 'access_denied' ? 'access_denied' : 'provider_refused')
  if (!code) throw new OauthFailure('missing_code')

  const grant = await exchangeCode(provider, { code, codeVerifier, patienceMs })
  const profile = await provider.readProfile(grant, provider.userInfoUrl)

  const session = await db.transaction().execute(async (trx) => {
    const user = await admit(trx, profile, config.auth.isInviteRequired, origin)
    await proveEmail(trx, user, origin)
    return signIn(trx, config, user.id, origin)
  })
  wakeRelay()
  return issueTokens(tokens, session, config.auth.jwtExpirySeconds)
}

/** Whoever is known by the address may come in, strangers only when no invitation is needed. */
async function admit(trx: Transaction, profile: Profile, isInviteRequired: boolean, { ip, now }: SignInOrigin) {
  const email = readEmail(profile.email)
  if (!isInviteRequired) return findOrCreateUser(trx, { email, userName: profile.name, ip, now })
  const user = await findUserByEmail(trx, email)
  if (!user) throw new OauthFailure('not_invited')
  return user
}
