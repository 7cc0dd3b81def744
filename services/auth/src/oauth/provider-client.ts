import { type Claims, isObject } from '../single-sign-on/claims.ts'
import { SignInFailure } from '../single-sign-on/sign-in-failure.ts'
import type { Grant } from './profiles.ts'
import type { OauthProvider } from './provider.ts'
import { readBounded } from './provider-fetch.ts'

interface CodeExchange {
  code: string
  codeVerifier: string
  /** Milliseconds for all requests to the provider together. */
  timeoutMs: number
}

/**
 * Exchanges a code for access to the profile (RFC 6749, 4.1.3, with PKCE, RFC 7636). The client libraries cannot do
 * this: they check answers against an issuer, but the operator configures such a provider by its URLs alone.
 * @throws SignInFailure when the provider refuses, gives an invalid or too long answer, or does not answer in time.
 */
export async function exchangeCode(
  provider: OauthProvider,
  { code, codeVerifier, timeoutMs }: CodeExchange,
): Promise<Grant> {
  const signal = AbortSignal.timeout(timeoutMs)
  const form = {
    grant_type: 'authorization_code',
    code,
    redirect_uri: provider.redirectUri,
    code_verifier: codeVerifier,
  }

  const { access_token, id_token } = await requestTokens(provider, form, signal)
  if (typeof access_token !== 'string' || !/^[\x21-\x7e]+$/.test(access_token)) {
    throw unavailable('the token response has no access token')
  }
  return {
    ask: async (url) => {
      const { status, body } = await askJson(url, { headers: { authorization: `Bearer ${access_token}` } }, signal)
      if (status !== 200) throw unavailable(`the request for the profile was answered with ${status}`)
      return body
    },
    idClaims: readClaims(id_token),
  }
}

async function requestTokens(
  provider: OauthProvider,
  form: Record<string, string>,
  signal: AbortSignal,
): Promise<Claims> {
  const post = (headers: Record<string, string>, more: Record<string, string> = {}) =>
    askJson(provider.tokenUrl, { method: 'POST', headers, body: new URLSearchParams({ ...form, ...more }) }, signal)

  let answer = await post({}, { client_id: provider.clientId, client_secret: provider.clientSecret })
  // Some providers want the credentials in the header, and no setting says which ones. A refused request does not
  // consume the code.
  if (isObject(answer.body) && answer.body.error === 'invalid_client') {
    answer = await post({ authorization: basicCredentials(provider) })
  }

  const { status, body } = answer
  if (status >= 500 || !isObject(body)) throw unavailable(`the request with the code was answered with ${status}`)
  // GitHub refuses with status 200.
  if (status !== 200 || body.error !== undefined) {
    throw new SignInFailure('provider_refused', { cause: new Error(`the code was refused with ${status}`) })
  }
  return body
}

async function askJson(
  url: string,
  init: RequestInit,
  signal: AbortSignal,
): Promise<{ status: number; body: unknown }> {
  const headers = { accept: 'application/json', 'user-agent': 'parley', ...init.headers }
  try {
    const response = await fetch(url, { ...init, headers, signal, redirect: 'error' })
    const text = (await readBounded(response)).toString('utf8')
    return { status: response.status, body: parseJson(text) }
  } catch (error) {
    throw new SignInFailure('provider_unavailable', { cause: error })
  }
}

/** Undefined when the text is not JSON. The parser's error quotes the text, which may hold a token, so it is dropped. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function readClaims(idToken: unknown): Claims {
  if (typeof idToken !== 'string') return {}
  const claims = parseJson(Buffer.from(idToken.split('.')[1] ?? '', 'base64url').toString('utf8'))
  return isObject(claims) ? claims : {}
}

/** RFC 6749, 2.3.1: both parts are form-encoded before they are joined. */
function basicCredentials({ clientId, clientSecret }: OauthProvider): string {
  const [id, secret] = [clientId, clientSecret].map((part) => new URLSearchParams({ part }).toString().slice(5))
  return `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`
}

const unavailable = (reason: string) => new SignInFailure('provider_unavailable', { cause: new Error(reason) })
