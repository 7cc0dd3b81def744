import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { notFound, refusals } from '@parley/contract'
import type { Deps } from '@parley/service'
import { Type } from 'typebox'
import { type PresetId, presets } from '../oauth/providers.ts'
import { checkOauth, checkOpenid, checkSaml, Finding } from './provider-checks.ts'

const SignInProvider = Type.Object({
  id: Type.String(),
  name: Type.String(),
  protocol: Type.Enum(['oauth', 'openid', 'saml']),
  loginUrl: Type.String({ description: 'Path to send the browser to' }),
  callbackUrl: Type.String({
    description:
      'The address that must be allowed at the provider: the redirect address, or the assertion consumer service',
  }),
  logoutUrl: Type.Optional(
    Type.String({ description: 'The address to which the provider may send logout tokens (OpenID Connect)' }),
  ),
  entityId: Type.Optional(Type.String({ description: 'The name of this server at the provider (SAML)' })),
})

const ListProviders = {
  summary: 'List the sign-in providers, with the addresses that must be configured there',
  response: { 200: Type.Object({ providers: Type.Array(SignInProvider) }), ...refusals(401, 403) },
}

const TestProvider = {
  summary: 'Test whether people can sign in with a provider',
  description: 'Sends requests to the provider, but signs nobody in.',
  params: Type.Object({ providerId: Type.String() }),
  response: {
    200: Type.Object({
      works: Type.Boolean({ description: 'Whether there is no finding of the level `error`' }),
      findings: Type.Array(Finding),
    }),
    ...refusals(401, 403, 404),
  },
}

export const providerTestRoutes =
  ({ config, clock }: Pick<Deps, 'config' | 'clock'>): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { auth, oauth, saml } = config
    const addressOf = (path: string) => `${auth.appUrl}${path}`
    const access = { access: 'admin' } as const

    const ofPresets = Object.entries(oauth.presets).flatMap(([id, options]) => {
      if (options === undefined) return []
      const preset = presets[id as PresetId](options)
      return [{ ...entryOf({ id, name: preset.name, ...options }), check: () => checkOauth(preset) }]
    })
    const custom = oauth.custom.map((entry) => {
      const { issuer, tokenUrl } = entry
      if (issuer === undefined) return { ...entryOf(entry), check: () => checkOauth({ tokenUrl: tokenUrl! }) }
      const logoutUrl = addressOf(`/auth/oauth/${entry.id}/backchannel-logout`)
      const protocol = 'openid' as const
      return { ...entryOf(entry), protocol, logoutUrl, check: () => checkOpenid({ ...entry, issuer }) }
    })
    const ofSaml = saml.map((entry) => ({
      id: entry.id,
      name: entry.name,
      protocol: 'saml' as const,
      loginUrl: `/auth/saml/${entry.id}`,
      callbackUrl: addressOf(`/auth/saml/${entry.id}/acs`),
      entityId: entry.entityId,
      check: async () => checkSaml(entry, clock()),
    }))
    const providers = [...ofPresets, ...custom, ...ofSaml]

    app.get('/admin/sso', { schema: ListProviders, config: access }, async () => ({
      providers: providers.map(({ check: _, ...listed }) => listed),
    }))

    app.post('/admin/sso/:providerId/test', { schema: TestProvider, config: access }, async ({ params }) => {
      const provider = providers.find(({ id }) => id === params.providerId)
      if (!provider) throw notFound('sign-in provider')
      const findings = await provider.check()
      return { works: findings.every(({ level }) => level !== 'error'), findings }
    })
  }

const entryOf = ({ id, name, redirectUri }: { id: string; name: string; redirectUri: string }) => ({
  id,
  name,
  protocol: 'oauth' as const,
  loginUrl: `/auth/oauth/${id}`,
  callbackUrl: redirectUri,
})
