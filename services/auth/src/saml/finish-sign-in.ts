import type { StartedSession } from '@parley/accounts'
import type { Deps } from '@parley/service'
import { insertUsedToken } from '../sessions/provider-sessions.queries.ts'
import { type SignInOrigin, signIn } from '../sessions/sign-in.ts'
import { admitFromDirectory, syncDirectoryGroups } from '../single-sign-on/admission.ts'
import { SignInFailure } from '../single-sign-on/sign-in-failure.ts'
import { requireState } from '../single-sign-on/sign-in-state.ts'
import { invalidResponse, type SamlProvider } from './saml-provider.ts'

/** A response that a browser has posted, with what the route has read of it. */
interface PostedResponse {
  provider: SamlProvider
  response: string
  /** The state of the request that the response answers, as it claims. */
  state: string
  /** The reason when the response is refused because of its head. */
  fault: string | undefined
  browserSecret: string | undefined
  origin: SignInOrigin
}

/**
 * The second half of a sign-in: consumes the request that this response answers, checks the assertion and starts a session.
 * @throws SignInFailure
 */
export async function finishSignIn(deps: Deps, posted: PostedResponse): Promise<StartedSession> {
  const { db, config, wakeRelay } = deps
  const { provider, response, state, fault, browserSecret, origin } = posted
  const { ip, now } = origin

  await requireState(deps, { provider: { id: storedIdOf(provider) }, ip, now, state, browserSecret })
  if (fault) throw invalidResponse(fault)
  const { person, policy, assertion } = await provider.identify(response, requestIdOf(state), now)

  const session = await db.transaction().execute(async (trx) => {
    const { issuer } = person.identity
    const { id, expiresAt, sessionEndsBy: endsBy } = assertion
    const isFirst = await insertUsedToken(trx, { issuer, id: `assertion ${id}`, expiresAt, now })
    if (!isFirst) throw new SignInFailure('invalid_state')
    const user = await admitFromDirectory(trx, { person, policy, config, origin })
    return signIn(trx, config, { user, method: 'saml', endsBy }, origin)
  })
  await syncDirectoryGroups(deps, session.userId, person, origin)
  wakeRelay()
  return session
}

/** The id of a request is this prefix and the state, because an XML id must not begin with a digit. */
const requestPrefix = '_'
export const requestIdOf = (state: string) => requestPrefix + state
export const stateOf = (requestId: string) => requestId.slice(requestPrefix.length)

/** Started sign-ins are stored together with those of OAuth, with an id that no OAuth provider can have. */
export const storedIdOf = ({ id }: SamlProvider) => `saml ${id}`
