import type { Config } from '@parley/config'
import {
  type ReadProfile,
  readGithubProfile,
  readGitlabProfile,
  readMicrosoftProfile,
  readVerifiedClaims,
} from './profiles.ts'

export type PresetId = 'google' | 'microsoft' | 'github' | 'gitlab'

/** What is known of a provider beforehand; an operator adds credentials. */
export interface Preset {
  name: string
  authorizationUrl: string
  tokenUrl: string
  userInfoUrl: string
  scopes: readonly string[]
  readProfile: ReadProfile
}

/** What an operator writes of a preset; only Microsoft's has a tenant. */
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
