import { X509Certificate } from 'node:crypto'
import type { Config } from '@parley/config'
import {
  type AuthorizationServer,
  allowInsecureRequests,
  authorizationCodeGrantRequest,
  customFetch,
  OperationProcessingError,
  processAuthorizationCodeResponse,
  ResponseBodyError,
  validateAuthResponse,
} from 'oauth4webapi'
import type { Static } from 'typebox'
import { Type } from 'typebox'
import { clientSecretFor, discoverMetadata } from '../oauth/openid-server.ts'
import type { OauthProvider } from '../oauth/provider.ts'
import { createProviderFetch, UnusableResponse } from '../oauth/provider-fetch.ts'
import { isObject } from '../single-sign-on/claims.ts'

/** One result of the test of a provider. */
export const Finding = Type.Object({
  level: Type.Enum(['ok', 'warning', 'error'], { description: '`error`: nobody can sign in' }),
  message: Type.String({ description: 'A sentence for an admin' }),
})
export type Finding = Static<typeof Finding>

const timeoutMs = 10_000
const dayMs = 86_400_000

const ok = (message: string): Finding => ({ level: 'ok', message })
const warning = (message: string): Finding => ({ level: 'warning', message })
const failure = (message: string): Finding => ({ level: 'error', message })

type OpenidEntry = Config['oauth']['custom'][number] & { issuer: string }

/** Tests an OpenID Connect provider: its addresses, its keys, and whether it accepts the client id and secret. */
export async function checkOpenid(entry: OpenidEntry): Promise<Finding[]> {
  const metadata = await discoverMetadata(entry.issuer, timeoutMs).catch((error: unknown) =>
    reasonOf(error, entry.issuer),
  )
  if (typeof metadata === 'string') return [failure(metadata)]
  const found = ok(`The provider was discovered at ${entry.issuer}`)
  const [keys, client] = await Promise.all([checkKeys(entry, metadata), checkClient(entry, metadata)])
  const logout = metadata.end_session_endpoint
    ? ok('The provider names an address for logging out')
    : warning('The provider names no address for logging out: a logout here does not end its own session')
  return [found, keys, client, logout]
}

async function checkKeys({ issuer }: OpenidEntry, metadata: AuthorizationServer): Promise<Finding> {
  const url = metadata.jwks_uri!
  try {
    const answer = await createProviderFetch(issuer)(url, { signal: AbortSignal.timeout(timeoutMs) })
    if (!answer.ok) return failure(`The address of the provider’s keys, ${url}, answered with ${answer.status}`)
    const body: unknown = await answer.json()
    const keys = isObject(body) && Array.isArray(body.keys) ? body.keys.filter(isObject) : []
    const signing = keys.filter(({ use, kty }) => use !== 'enc' && kty !== 'oct')
    if (signing.length === 0) return failure(`The provider publishes no key for signatures at ${url}`)
    return ok(`The provider publishes ${signing.length === 1 ? 'one key' : `${signing.length} keys`} for signatures`)
  } catch (error) {
    return failure(reasonOf(error, url))
  }
}

/** Exchanges a code that the provider never issued. When the provider refuses only the code, it accepts the client. */
async function checkClient(entry: OpenidEntry, metadata: AuthorizationServer): Promise<Finding> {
  const client = { client_id: entry.clientId }
  const query = new URLSearchParams({ code: 'a-code-of-a-test', state: 'test', iss: metadata.issuer })
  try {
    const answer = await authorizationCodeGrantRequest(
      metadata,
      client,
      clientSecretFor(metadata, entry.clientSecret),
      validateAuthResponse(metadata, client, query, 'test'),
      entry.redirectUri,
      'a'.repeat(43),
      {
        [customFetch]: createProviderFetch(entry.issuer),
        [allowInsecureRequests]: true,
        signal: AbortSignal.timeout(timeoutMs),
      },
    )
    await processAuthorizationCodeResponse(metadata, client, answer)
  } catch (error) {
    if (!(error instanceof ResponseBodyError)) return warning(reasonOf(error, metadata.token_endpoint!))
    if (error.error === 'invalid_grant') return ok('The provider knows the client id and secret')
    if (['invalid_client', 'unauthorized_client'].includes(error.error)) {
      return failure('The provider refuses the client id or the client secret')
    }
    return warning(`The provider answered a test of the client with ${error.error.slice(0, 60)}`)
  }
  return failure('The provider accepted a code that it never issued')
}

/** Tests whether the token address answers at all. A provider without an issuer allows no other test. */
export async function checkOauth({ tokenUrl }: Pick<OauthProvider, 'tokenUrl'>): Promise<Finding[]> {
  try {
    await createProviderFetch(tokenUrl)(tokenUrl, { signal: AbortSignal.timeout(timeoutMs) })
    return [ok(`${new URL(tokenUrl).origin} answers. A provider without an issuer allows no other test`)]
  } catch (error) {
    if (error instanceof UnusableResponse) return [ok(`${new URL(tokenUrl).origin} answers`)]
    return [failure(reasonOf(error, tokenUrl))]
  }
}

/** Tests the certificates of a SAML provider. Only browsers connect to the provider, so this server need not reach it. */
export function checkSaml({ certificates, entryPoint }: Config['saml'][number], now: number): Finding[] {
  const findings = certificates!.map((pem, index) =>
    checkCertificate(new X509Certificate(pem), `Certificate ${index + 1}`, now),
  )
  const isNoneUsable = findings.every(({ level }) => level === 'error')
  return [
    ok(`People are sent to ${new URL(entryPoint!).origin}`),
    // An expired certificate beside a valid one does no harm.
    ...findings.map((finding) => (finding.level === 'error' && !isNoneUsable ? warning(finding.message) : finding)),
  ]
}

function checkCertificate(
  { publicKey, validFromDate, validToDate }: X509Certificate,
  name: string,
  now: number,
): Finding {
  const until = validToDate.toISOString().slice(0, 10)
  if (publicKey.asymmetricKeyType !== 'rsa')
    return failure(`${name} is not for an RSA key, and other signatures are not supported`)
  if (validToDate.getTime() <= now) return failure(`${name} expired on ${until}`)
  if (validFromDate.getTime() > now)
    return failure(`${name} is not valid before ${validFromDate.toISOString().slice(0, 10)}`)
  if (validToDate.getTime() <= now + 30 * dayMs) return warning(`${name} expires on ${until}`)
  return ok(`${name} is valid until ${until}`)
}

/** Why a request failed, as a sentence for an admin. It quotes nothing of the provider's answer except the issuer. */
function reasonOf(error: unknown, url: string): string {
  if (error instanceof UnusableResponse) return `The provider cannot be used: ${error.message}`
  const { name, code, cause } = error as Error & { code?: string }
  if (name === 'TimeoutError') return `The provider does not answer within ${timeoutMs / 1000} seconds: ${url}`
  if (error instanceof OperationProcessingError) {
    const body = isObject(cause) ? cause.body : undefined
    const called = isObject(body) && typeof body.issuer === 'string' ? body.issuer.slice(0, 200) : undefined
    if (code === 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED' && called) {
      return `The provider calls itself ${called}: write exactly this as issuer`
    }
    if (code === 'OAUTH_RESPONSE_IS_NOT_CONFORM') return `There is no discovery document of OpenID Connect for ${url}`
    return `The provider gave an answer that is not valid (${code})`
  }
  if (error instanceof SyntaxError) return `The answer of ${url} is not JSON`
  const reason = (cause as NodeJS.ErrnoException | undefined)?.code ?? name
  return `The provider cannot be reached at ${url} (${reason})`
}
