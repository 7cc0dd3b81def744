import { createRemoteJWKSet, customFetch as fetchOfKeys, type JWTVerifyGetKey } from 'jose'
import {
  type AuthorizationServer,
  allowInsecureRequests,
  type ClientAuth,
  ClientSecretBasic,
  ClientSecretPost,
  customFetch,
  discoveryRequest,
  processDiscoveryResponse,
} from 'oauth4webapi'
import { createProviderFetch, UnusableResponse } from './provider-fetch.ts'

/**
 * The allowed algorithms sign with a key of the provider. `none` is not allowed, nor are the HS algorithms, which use
 * the client's secret.
 */
export const signatureAlgorithms = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
]

/** Seconds by which the provider's clock may differ from ours. */
export const toleratedSeconds = 60

/** The discovered addresses and the keys are used for these times before they are fetched again. */
const discoveryMs = 3_600_000
const keysMs = 600_000

export interface OpenidServer {
  /** The discovered metadata, limited to the algorithms that are allowed here. */
  metadata: AuthorizationServer
  /** The keys of the provider. They are fetched again when a token names an unknown key. */
  keys: JWTVerifyGetKey
}

export interface OpenidServerOptions {
  clock: () => number
  /** Milliseconds for one request. */
  timeoutMs: number
  /** The shortest time between two fetches of the keys because of an unknown key. */
  keysCooldownMs?: number
}

/** Discovers an OpenID Connect provider when it is first needed, and caches the result in this process. */
export function createOpenidServer(issuer: string, { clock, timeoutMs, keysCooldownMs = 30_000 }: OpenidServerOptions) {
  const providerFetch = createProviderFetch(issuer)
  let known: (OpenidServer & { readAt: number }) | undefined
  let reading: Promise<OpenidServer> | undefined

  async function discover(): Promise<OpenidServer> {
    const metadata = await discoverMetadata(issuer, timeoutMs)
    // The cached keys stay as long as their address stays the same.
    const keys = known?.metadata.jwks_uri === metadata.jwks_uri ? known!.keys : keysAt(metadata.jwks_uri!)
    known = { metadata, keys, readAt: clock() }
    return known
  }

  const keysAt = (url: string) =>
    createRemoteJWKSet(new URL(url), {
      timeoutDuration: timeoutMs,
      cooldownDuration: keysCooldownMs,
      cacheMaxAge: keysMs,
      [fetchOfKeys]: (address, { headers, signal }) => providerFetch(address, { headers, signal }),
    })

  return {
    fetch: providerFetch,
    /** The provider. An old result is used while it cannot be discovered again. @throws when it was never discovered and cannot be now. */
    async read(): Promise<OpenidServer> {
      if (known && clock() - known.readAt < discoveryMs) return known
      reading ??= discover().finally(() => {
        reading = undefined
      })
      if (!known) return reading
      return reading.catch(() => known!)
    },
  }
}

/** The secret of the client, as the provider wants it: in a header, unless it accepts it only in the body (RFC 8414, 2). */
export function clientSecretFor(
  { token_endpoint_auth_methods_supported: methods = ['client_secret_basic'] }: AuthorizationServer,
  clientSecret: string,
): ClientAuth {
  return methods.includes('client_secret_basic') ? ClientSecretBasic(clientSecret) : ClientSecretPost(clientSecret)
}

/**
 * Discovers the metadata of a provider now.
 * @throws when the provider is unreachable, names another issuer, or lacks something that a sign-in needs.
 */
export async function discoverMetadata(issuer: string, timeoutMs: number): Promise<AuthorizationServer> {
  const url = new URL(issuer)
  const response = await discoveryRequest(url, {
    [customFetch]: createProviderFetch(issuer),
    // The fetch above checks the addresses.
    [allowInsecureRequests]: true,
    signal: AbortSignal.timeout(timeoutMs),
  })
  const metadata = await processDiscoveryResponse(url, response)
  const missing = (['authorization_endpoint', 'token_endpoint', 'jwks_uri'] as const).filter((name) => !metadata[name])
  if (missing.length > 0) throw new UnusableResponse(`the discovery document has no ${missing.join(', ')}`)
  const offered = metadata.id_token_signing_alg_values_supported
  const allowed = offered?.filter((algorithm) => signatureAlgorithms.includes(algorithm)) ?? ['RS256']
  if (allowed.length === 0)
    throw new UnusableResponse('none of the signature algorithms of the provider is allowed here')
  return { ...metadata, id_token_signing_alg_values_supported: allowed }
}
