import type { Config } from '@parley/config'
import {
  type ReadProfile,
  readGithubProfile,
  readGitlabProfile,
  readMicrosoftProfile,
  readTrustedClaims,
  readVerifiedClaims,
} from './profiles.ts'

export type PresetId = 'google' | 'microsoft' | 'github' | 'gitlab'

/** What is the same for every installation that uses a provider. The operator adds credentials. */
export interface Preset {
  name: string
  authorizationUrl: string
  tokenUrl: string
  userInfoUrl: string
  scopes: readonly string[]
  readProfile: ReadProfile
}

/** What the operator configures for a preset. Only Microsoft has a tenant. */
export type PresetOptions = NonNullable<Config['oauth']['presets']['microsoft']>

export type Presets = Record<PresetId, (options: PresetOptions) => Preset>

export const presets: Presets = {
  google: () => ({
    name: 'Google',
    authorizationUrl: 'https://accounts.google.com/o/oauth2/v2/auth',
    tokenUrl: 'https://oauth2.googleapis.com/token',
    userInfoUrl: 'https://openidconnect.googleapis.com/v1/userinfo',
    scopes: ['openid', 'email', 'profile'],
    readProfile: readVerifiedClaims,
  }),

  microsoft: ({ tenant }) => {
    const authority = `https://login.microsoftonline.com/${encodeURIComponent(tenant ?? 'common')}/oauth2/v2.0`
    return {
      name: 'Microsoft',
      authorizationUrl: `${authority}/authorize`,
      tokenUrl: `${authority}/token`,
      userInfoUrl: 'https://graph.microsoft.com/oidc/userinfo',
      scopes: ['openid', 'email', 'profile', 'User.Read'],
      readProfile: readMicrosoftProfile(tenant),
    }
  },

  github: () => ({
    name: 'GitHub',
    authorizationUrl: 'https://github.com/login/oauth/authorize',
    tokenUrl: 'https://github.com/login/oauth/access_token',
    userInfoUrl: 'https://api.github.com/user',
    scopes: ['user:email', 'read:user'],
    readProfile: readGithubProfile,
  }),

  gitlab: () => ({
    name: 'GitLab',
    authorizationUrl: 'https://gitlab.com/oauth/authorize',
    tokenUrl: 'https://gitlab.com/oauth/token',
    userInfoUrl: 'https://gitlab.com/api/v4/user',
    scopes: ['read_user', 'email'],
    readProfile: readGitlabProfile,
  }),
}

/** A provider that people may sign in with. */
export interface Provider extends Preset {
  /** Its name in paths. */
  id: string
  clientId: string
  clientSecret: string
  /** The address that it sends the browser back to. */
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

/** The address to which the browser is sent to sign in (RFC 6749, 4.1.1, with PKCE). */
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
