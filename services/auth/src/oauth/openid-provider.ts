import type { Config } from '@parley/config'
import { errors, jwtVerify } from 'jose'
import {
  allowInsecureRequests,
  authorizationCodeGrantRequest,
  type Client,
  ClientSecretBasic,
  ClientSecretPost,
  clockSkew,
  clockTolerance,
  customFetch,
  processAuthorizationCodeResponse,
  processUserInfoResponse,
  ResponseBodyError,
  userInfoRequest,
  validateAuthResponse,
} from 'oauth4webapi'
import type { DirectoryPerson } from '../single-sign-on/admission.ts'
import {
  type Claims,
  claimNamed,
  displayNameFrom,
  listClaim,
  textClaim,
  userNameFrom,
} from '../single-sign-on/claims.ts'
import { SignInFailure } from '../single-sign-on/sign-in-failure.ts'
import { nonceOf } from '../single-sign-on/sign-in-state.ts'
import { createLogoutTokens } from './logout-tokens.ts'
import {
  createOpenidServer,
  type OpenidServer,
  type OpenidServerOptions,
  signatureAlgorithms,
  toleratedSeconds,
} from './openid-server.ts'
import { isTrue } from './profiles.ts'
import { type AuthorizationResponse, authorizationUrl, type Provider } from './provider.ts'

type Entry = Config['oauth']['custom'][number] & { issuer: string }

/** The longest `sub` and `sid` that are stored. OpenID Connect allows 255 characters for `sub`. */
const longestName = 255
/** The longest id token that is stored for the logout. A longer one would not fit into a URL. */
const longestHint = 4_000

/**
 * An OpenID Connect provider, configured by its issuer. `oauth4webapi` implements the protocol, and `jose` checks
 * signatures and keys.
 */
export function createOpenidProvider(entry: Entry, options: OpenidServerOptions): Provider {
  const { issuer, clientId, clientSecret, redirectUri } = entry
  const { clock, timeoutMs } = options
  const server = createOpenidServer(issuer, options)

  const requestOptions = (signal: AbortSignal) => ({
    [customFetch]: server.fetch,
    // The fetch above checks the addresses.
    [allowInsecureRequests]: true as const,
    signal,
  })
  const client = (): Client => ({
    client_id: clientId,
    [clockSkew]: Math.round((clock() - Date.now()) / 1000),
    [clockTolerance]: toleratedSeconds,
  })

  const readServer = () =>
    server.read().catch((error: unknown) => {
      throw unavailable(error)
    })

  async function exchange({ metadata, keys }: OpenidServer, { query, codeVerifier }: AuthorizationResponse) {
    const signal = AbortSignal.timeout(timeoutMs)
    const methods = metadata.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
    const authenticate = methods.includes('client_secret_basic') ? ClientSecretBasic : ClientSecretPost
    // Checks that the answer comes from this provider (RFC 9207). The state was checked before.
    const parameters = validateAuthResponse(metadata, client(), query, query.get('state')!)
    const answer = await authorizationCodeGrantRequest(
      metadata,
      client(),
      authenticate(clientSecret),
      parameters,
      redirectUri,
      codeVerifier,
      requestOptions(signal),
    )
    const { access_token, id_token } = await processAuthorizationCodeResponse(metadata, client(), answer, {
      expectedNonce: nonceOf(codeVerifier),
      requireIdToken: true,
    })
    const { payload } = await jwtVerify(id_token!, keys, {
      issuer: metadata.issuer,
      audience: clientId,
      algorithms: signatureAlgorithms,
      requiredClaims: ['sub', 'exp', 'iat'],
      clockTolerance: toleratedSeconds,
      currentDate: new Date(clock()),
    })
    // The library checks `azp` only when there are several audiences. A token that another client asked for is always refused.
    if (payload.azp !== undefined && payload.azp !== clientId) throw new errors.JWTInvalid('unexpected "azp"')
    if (!isName(payload.sub)) throw new errors.JWTInvalid('unusable "sub"')
    if (!metadata.userinfo_endpoint) return { idToken: id_token!, idClaims: payload as Claims, userInfo: {} }

    const userInfoResponse = await userInfoRequest(metadata, client(), access_token, requestOptions(signal))
    const userInfo: Claims = await processUserInfoResponse(metadata, client(), payload.sub, userInfoResponse)
    return { idToken: id_token!, idClaims: payload as Claims, userInfo }
  }

  function personOf(metadata: OpenidServer['metadata'], idClaims: Claims, userInfo: Claims): DirectoryPerson {
    const { claims = {}, trustEmail = false } = entry
    const all = { ...userInfo, ...idClaims }
    // `email_verified` says something only about the address in the same claims.
    const emailName = claims.email ?? 'email'
    const source = claimNamed(idClaims, emailName) === undefined ? userInfo : idClaims
    const isVerified = trustEmail || isTrue(source.email_verified)
    return {
      identity: { protocol: 'openid', issuer: metadata.issuer, subject: idClaims.sub as string },
      email: isVerified ? textClaim(source, emailName) : undefined,
      userName: userNameFrom(textClaim(all, claims.userName ?? 'preferred_username') ?? textClaim(all, 'name')),
      displayName: displayNameFrom(textClaim(all, claims.displayName ?? 'name')),
      groups: listClaim(all, claims.groups ?? 'groups'),
      roles: listClaim(all, claims.roles ?? 'roles') ?? [],
    }
  }

  return {
    id: entry.id,
    name: entry.name,
    redirectUri,
    async startUrl({ state, codeVerifier, codeChallenge }) {
      const { metadata } = await readServer()
      const url = authorizationUrl(
        { ...entry, authorizationUrl: metadata.authorization_endpoint! },
        { state, codeChallenge },
      )
      url.searchParams.set('nonce', nonceOf(codeVerifier))
      return url.href
    },
    async identify(response) {
      const openid = await readServer()
      const { idToken, idClaims, userInfo } = await exchange(openid, response).catch((error: unknown) => {
        throw asFailure(error)
      })
      const person = personOf(openid.metadata, idClaims, userInfo)
      const session = {
        providerId: entry.id,
        issuer: person.identity.issuer,
        subject: person.identity.subject,
        sid: isName(idClaims.sid) ? idClaims.sid : null,
        idToken: idToken.length <= longestHint ? idToken : null,
      }
      return { person, policy: entry, session }
    },
    async logoutUrl(idToken) {
      const { metadata } = await server.read()
      if (!metadata.end_session_endpoint) return undefined
      const url = new URL(metadata.end_session_endpoint)
      url.searchParams.set('client_id', clientId)
      if (idToken) url.searchParams.set('id_token_hint', idToken)
      return url
    },
    readLogoutToken: createLogoutTokens({ clientId, clock, readServer: () => server.read() }),
  }
}

const isName = (value: unknown): value is string =>
  typeof value === 'string' && value !== '' && value.length <= longestName && !value.includes('\0')

function asFailure(error: unknown): SignInFailure {
  if (error instanceof SignInFailure) return error
  if (error instanceof ResponseBodyError) return new SignInFailure('provider_refused', { cause: withoutAnswer(error) })
  return unavailable(error)
}

const unavailable = (error: unknown) => new SignInFailure('provider_unavailable', { cause: withoutAnswer(error) })

/** The error without its cause, because the libraries put the provider's answer there. */
function withoutAnswer(error: unknown): Error {
  const { name, message, code, cause } = error as Error & { code?: string }
  const reason =
    name === 'TypeError' && cause instanceof Error ? `: ${(cause as NodeJS.ErrnoException).code ?? cause.name}` : ''
  return new Error(`${code ?? name}: ${message}${reason}`)
}
