import { findOrCreateUser, findUserByEmail, proveEmail, type StartedSession } from '@parley/accounts'
import type { Config } from '@parley/config'
import type { Transaction } from '@parley/database'
import type { Deps } from '@parley/service'
import { insertProviderSession, isLoggedOut } from '../sessions/provider-sessions.queries.ts'
import { type SignInOrigin, signIn } from '../sessions/sign-in.ts'
import { admitFromDirectory, readProviderEmail, syncDirectoryGroups } from '../single-sign-on/admission.ts'
import { SignInFailure } from '../single-sign-on/sign-in-failure.ts'
import { requireState } from '../single-sign-on/sign-in-state.ts'
import type { Provider, SignedIn } from './provider.ts'

/** A request to the callback address. */
interface ProviderCallback {
  provider: Provider
  query: URLSearchParams
  /** The value of the browser's cookie. */
  browserSecret: string | undefined
  origin: SignInOrigin
}

/**
 * The second half of a sign-in: consumes the state, exchanges the code, finds or creates the user and starts a session. Requests to the
 * provider happen outside of any transaction.
 * @throws SignInFailure
 */
export async function finishSignIn(deps: Deps, callback: ProviderCallback): Promise<StartedSession> {
  const { db, config, seals, wakeRelay } = deps
  const { provider, query, browserSecret, origin } = callback
  const { ip, now } = origin

  const codeVerifier = await requireState(deps, { provider, ip, now, state: query.get('state'), browserSecret })
  const error = query.get('error')
  if (error) throw new SignInFailure(error === 'access_denied' ? 'access_denied' : 'provider_refused')
  const code = query.get('code')
  if (!code) throw new SignInFailure('missing_code')

  const signedIn = await provider.identify({ query, code, codeVerifier })

  const session = await db.transaction().execute(async (trx) => {
    if ('session' in signedIn && (await isLoggedOut(trx, signedIn.session, now)))
      throw new SignInFailure('provider_refused')
    const user = await admit(trx, signedIn, config, origin)
    const started = await signIn(trx, config, { user, method: 'oauth' }, origin)
    if ('session' in signedIn) {
      const { idToken, ...known } = signedIn.session
      const sealed = idToken === null ? null : seals.seal(idToken)
      await insertProviderSession(trx, { ...known, idToken: sealed, sessionId: started.sessionId })
    }
    return started
  })
  if ('person' in signedIn) await syncDirectoryGroups(deps, session.userId, signedIn.person, origin)
  wakeRelay()
  return session
}

/** Finds the user who signed in. A new user is created only when no invitation is needed. */
async function admit(trx: Transaction, signedIn: SignedIn, config: Config, origin: SignInOrigin) {
  if ('person' in signedIn) return admitFromDirectory(trx, { ...signedIn, config, origin })
  const { auth, chat } = config
  const { profile } = signedIn
  const email = readProviderEmail(profile.email)
  const input = { email, autoJoin: chat.autoJoin, ip: origin.ip, now: origin.now }
  const user = auth.isInviteRequired
    ? await findUserByEmail(trx, email)
    : await findOrCreateUser(trx, { ...input, ...(profile.name !== undefined && { userName: profile.name }) })
  if (!user) throw new SignInFailure('not_invited')
  await proveEmail(trx, user, origin)
  return user
}
