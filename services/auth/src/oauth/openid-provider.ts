import type { Config } from '@parley/config'
import { errors, type JWTVerifyGetKey, jwtVerify } from 'jose'
import {
  type AuthorizationServer,
  allowInsecureRequests,
  authorizationCodeGrantRequest,
  type Client,
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
import { createLogoutTokenReader } from './logout-tokens.ts'
import {
  clientSecretFor,
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
    // Checks that the answer comes from this provider (RFC 9207). The state was checked before.
    const parameters = validateAuthResponse(metadata, client(), query, query.get('state')!)
    const answer = await authorizationCodeGrantRequest(
      metadata,
      client(),
      clientSecretFor(metadata, clientSecret),
      parameters,
      redirectUri,
      codeVerifier,
      requestOptions(signal),
    )
    const { access_token, id_token } = await processAuthorizationCodeResponse(metadata, client(), answer, {
      expectedNonce: nonceOf(codeVerifier),
      requireIdToken: true,
    })
    const idClaims = await verifyIdToken(id_token!, { issuer: metadata.issuer, clientId, keys, now: clock() })
    const userInfo = metadata.userinfo_endpoint ? await fetchUserInfo(metadata, access_token, idClaims.sub, signal) : {}
    return { issuer: metadata.issuer, idToken: id_token!, idClaims, userInfo }
  }

  async function fetchUserInfo(
    metadata: AuthorizationServer,
    accessToken: string,
    subject: string,
    signal: AbortSignal,
  ): Promise<Claims> {
    const response = await userInfoRequest(metadata, client(), accessToken, requestOptions(signal))
    return processUserInfoResponse(metadata, client(), subject, response)
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
      const answered = await exchange(openid, response).catch((error: unknown) => {
        throw asFailure(error)
      })
      const { issuer, idToken, idClaims } = answered
      const session = {
        providerId: entry.id,
        issuer,
        subject: idClaims.sub,
        sid: isName(idClaims.sid) ? idClaims.sid : null,
        idToken: idToken.length <= longestHint ? idToken : null,
      }
      return { person: personOf(entry, answered), policy: entry, session }
    },
    async logoutUrl(idToken) {
      const { metadata } = await server.read()
      if (!metadata.end_session_endpoint) return undefined
      const url = new URL(metadata.end_session_endpoint)
      url.searchParams.set('client_id', clientId)
      if (idToken) url.searchParams.set('id_token_hint', idToken)
      return url
    },
    readLogoutToken: createLogoutTokenReader({ clientId, clock, readServer: () => server.read() }),
  }
}

interface IdTokenCheck {
  issuer: string
  clientId: string
  keys: JWTVerifyGetKey
  now: number
}

type IdClaims = Claims & { sub: string }

/** The claims of an id token. @throws when its signature or one of its claims is not valid. */
async function verifyIdToken(idToken: string, { issuer, clientId, keys, now }: IdTokenCheck): Promise<IdClaims> {
  const { payload } = await jwtVerify(idToken, keys, {
    issuer,
    audience: clientId,
    algorithms: signatureAlgorithms,
    requiredClaims: ['sub', 'exp', 'iat'],
    clockTolerance: toleratedSeconds,
    currentDate: new Date(now),
  })
  const { azp, sub } = payload
  // The library checks `azp` only when there are several audiences. A token that another client asked for is always refused.
  if (azp !== undefined && azp !== clientId) throw new errors.JWTInvalid('unexpected "azp"')
  if (!isName(sub)) throw new errors.JWTInvalid('unusable "sub"')
  return { ...payload, sub }
}

/** The facts about a person, from the id token and the user info of their provider. */
interface ProviderAnswer {
  issuer: string
  idClaims: IdClaims
  userInfo: Claims
}

function personOf(
  { claims = {}, trustEmail = false }: Entry,
  { issuer, idClaims, userInfo }: ProviderAnswer,
): DirectoryPerson {
  const all = { ...userInfo, ...idClaims }
  const emailName = claims.email ?? 'email'
  const source = claimNamed(idClaims, emailName) === undefined ? userInfo : idClaims
  const email = textClaim(source, emailName)
  const isVerified = trustEmail || (isTrue(source.email_verified) && isSameAddress(email, textClaim(source, 'email')))
  return {
    identity: { protocol: 'openid', issuer, subject: idClaims.sub },
    email: isVerified ? email : undefined,
    userName: userNameFrom(textClaim(all, claims.userName ?? 'preferred_username') ?? textClaim(all, 'name')),
    displayName: displayNameFrom(textClaim(all, claims.displayName ?? 'name')),
    language: textClaim(all, claims.language ?? 'locale'),
    groups: listClaim(all, claims.groups ?? 'groups'),
    roles: listClaim(all, claims.roles ?? 'roles') ?? [],
  }
}

/** `email_verified` says something only about the claim `email`, and only in the same claims (OpenID Connect Core 1.0, section 5.1). */
const isSameAddress = (one: string | undefined, other: string | undefined) =>
  one?.toLowerCase() === other?.toLowerCase()

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
