import type { ProviderSession } from '../sessions/provider-sessions.queries.ts'
import type { DirectoryPerson, DirectoryPolicy } from '../single-sign-on/admission.ts'
import type { NewState } from '../single-sign-on/sign-in-state.ts'
import type { ReadLogoutToken } from './logout-tokens.ts'
import type { Profile, ReadProfile } from './profiles.ts'

/** The values of a started sign-in that the provider's start address is made of. */
type SignInStart = Pick<NewState, 'state' | 'codeVerifier' | 'codeChallenge'>

/** The authorization response (RFC 6749, 4.1.2), with which the provider sent the browser back. */
export interface AuthorizationResponse {
  query: URLSearchParams
  code: string
  codeVerifier: string
}

/** The person who signed in: a profile with a trusted address, or a person from the directory of an organisation. */
export type SignedIn =
  | { profile: Profile }
  | { person: DirectoryPerson; policy: DirectoryPolicy; session: ProviderSession }

/** A provider that people may sign in with. */
export interface Provider {
  /** The id in paths. */
  id: string
  name: string
  /** The address that it sends the browser back to. */
  redirectUri: string
  /** The address to which the browser is sent to sign in. @throws SignInFailure */
  startUrl(start: SignInStart): Promise<string>
  /** Exchanges the code, and returns the person who signed in. @throws SignInFailure */
  identify(response: AuthorizationResponse): Promise<SignedIn>
  /** The address that ends the browser's session at the provider, if the provider has one. Only for providers with an issuer. */
  logoutUrl?(idToken: string | null): Promise<URL | undefined>
  /** Only for providers with an issuer. */
  readLogoutToken?: ReadLogoutToken
}

/** The part of a provider that is the same for every installation. The operator adds the credentials. */
export interface Preset {
  name: string
  authorizationUrl: string
  tokenUrl: string
  userInfoUrl: string
  scopes: readonly string[]
  readProfile: ReadProfile
}

/** An OAuth 2.0 provider, configured by three addresses. */
export interface OauthProvider extends Preset {
  id: string
  clientId: string
  clientSecret: string
  redirectUri: string
}

/** The address to which the browser is sent to sign in (RFC 6749, 4.1.1, with PKCE). */
export function authorizationUrl(
  provider: Pick<OauthProvider, 'authorizationUrl' | 'clientId' | 'redirectUri'> & { scopes: readonly string[] },
  { state, codeChallenge }: Pick<SignInStart, 'state' | 'codeChallenge'>,
): URL {
  const url = new URL(provider.authorizationUrl)
  const parameters = {
    response_type: 'code',
    client_id: provider.clientId,
    redirect_uri: provider.redirectUri,
    scope: provider.scopes.join(' '),
    state,
    code_challenge: codeChallenge,
    code_challenge_method: 'S256',
  }
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
  return url
}
