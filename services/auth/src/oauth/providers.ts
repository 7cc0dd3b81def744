import type { Config } from '@parley/config'
import type { Preset, PresetId, Presets } from './presets.ts'
import { readTrustedClaims } from './profiles.ts'

/** A provider that people may sign in with. */
export interface Provider extends Preset {
  /** Its name in paths. */
  id: string
  clientId: string
  clientSecret: string
  /** Where it sends the browser back to. */
  redirectUri: string
}

/** The configured providers by id: presets first, then custom ones, each in the order of the configuration. */
export function configuredProviders({ oauth }: Pick<Config, 'oauth'>, presets: Presets): Map<string, Provider> {
  const known = Object.entries(oauth.presets).flatMap(([id, options]): Provider[] =>
    options === undefined ? [] : [{ ...options, ...presets[id as PresetId](options), id }],
  )
  const custom = oauth.custom.map((provider): Provider => ({ ...provider, readProfile: readTrustedClaims }))
  return new Map([...known, ...custom].map((provider) => [provider.id, provider]))
}

/** Where the browser is sent to sign in (RFC 6749, 4.1.1, with PKCE). */
export function authorizationUrl(
  provider: Provider,
  { state, codeChallenge }: Record<'state' | 'codeChallenge', string>,
) {
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
  return url.href
}
