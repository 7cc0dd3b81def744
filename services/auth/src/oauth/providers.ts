import type { Config } from '@parley/config'
import type { Deps } from '@parley/service'
import { Type } from 'typebox'
import { createOpenidProvider } from './openid-provider.ts'
import {
  readGithubProfile,
  readGitlabProfile,
  readMicrosoftProfile,
  readTrustedClaims,
  readVerifiedClaims,
} from './profiles.ts'
import { authorizationUrl, type OauthProvider, type Preset, type Provider } from './provider.ts'
import { exchangeCode } from './provider-client.ts'

export type PresetId = 'google' | 'microsoft' | 'github' | 'gitlab'

/** The settings of a preset. Only Microsoft has a tenant. */
type PresetOptions = NonNullable<Config['oauth']['presets']['microsoft']>

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

export type Providers = ReadonlyMap<string, Provider>

export interface ProviderOptions {
  /** Tests replace the presets with their own providers. */
  presets?: Presets
  /** Milliseconds for all requests to a provider during one sign-in. */
  timeoutMs?: number
  /** The shortest time between two fetches of a provider's keys because of an unknown key. */
  keysCooldownMs?: number
}

/** The configured providers by id: presets first, then custom ones, each in the order of the configuration. */
export function configuredProviders(
  { config: { oauth }, clock }: Pick<Deps, 'config' | 'clock'>,
  { presets: known = presets, timeoutMs = 10_000, keysCooldownMs }: ProviderOptions = {},
): Providers {
  const ofPresets = Object.entries(oauth.presets).flatMap(([id, options]): Provider[] =>
    options === undefined ? [] : [plainProvider({ ...options, ...known[id as PresetId](options), id }, timeoutMs)],
  )
  const custom = oauth.custom.map((provider): Provider => {
    const { issuer, authorizationUrl, tokenUrl, userInfoUrl } = provider
    if (issuer !== undefined) {
      return createOpenidProvider(
        { ...provider, issuer },
        { clock, timeoutMs, ...(keysCooldownMs !== undefined && { keysCooldownMs }) },
      )
    }
    // The configuration requires these three when there is no issuer.
    const addresses = { authorizationUrl: authorizationUrl!, tokenUrl: tokenUrl!, userInfoUrl: userInfoUrl! }
    return plainProvider({ ...provider, ...addresses, readProfile: readTrustedClaims }, timeoutMs)
  })
  return new Map([...ofPresets, ...custom].map((provider) => [provider.id, provider]))
}

const plainProvider = (provider: OauthProvider, timeoutMs: number): Provider => ({
  id: provider.id,
  name: provider.name,
  redirectUri: provider.redirectUri,
  startUrl: async (start) => authorizationUrl(provider, start).href,
  async identify({ code, codeVerifier }) {
    const grant = await exchangeCode(provider, { code, codeVerifier, timeoutMs })
    return { profile: await provider.readProfile(grant, provider.userInfoUrl) }
  },
})

/** A provider as clients show it. */
export const ListedProvider = Type.Object({
  id: Type.String(),
  name: Type.String(),
  loginUrl: Type.String({ description: 'Path to send the browser to' }),
})

/** The providers that people may sign in with: OAuth and OpenID Connect first, then SAML. */
export const listedProviders = ({ saml }: Pick<Config, 'saml'>, providers: Providers) => [
  ...[...providers.values()].map(({ id, name }) => ({ id, name, loginUrl: `/auth/oauth/${id}` })),
  ...saml.map(({ id, name }) => ({ id, name, loginUrl: `/auth/saml/${id}` })),
]
