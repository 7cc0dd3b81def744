import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Config } from '@parley/config'
import type { Deps } from '@parley/service'
import { type Static, Type } from 'typebox'
import { ListedProvider, listedProviders, type Providers } from '../oauth/providers.ts'

const Capabilities = Type.Object({
  auth: Type.Object({
    mode: Type.Enum(['dev', 'magic-link', 'password']),
    hasEmail: Type.Boolean({ description: 'The server can send e-mail' }),
    isInviteRequired: Type.Boolean({ description: 'Only people whom an admin added may sign in' }),
    oauthEnabled: Type.Boolean({ description: 'There is at least one provider' }),
    providers: Type.Array(ListedProvider, { description: 'The same as in GET /auth/oauth/providers' }),
    passwordResetEnabled: Type.Boolean({ description: 'People may ask for a reset link by e-mail' }),
    registrationEnabled: Type.Boolean({ description: 'People may register by themselves' }),
  }),
})

const GetCapabilities = {
  summary: 'Get the sign-in modes and features of this server',
  response: { 200: Capabilities },
}

export const capabilityRoutes =
  ({ config }: Pick<Deps, 'config'>, providers: Providers): FastifyPluginAsyncTypebox =>
  async (app) => {
    const capabilities = capabilitiesOf(config, providers)
    for (const path of ['/config.json', '/auth/config']) {
      app.get(path, { schema: GetCapabilities, config: { access: 'none' } }, async () => capabilities)
    }
  }

function capabilitiesOf(config: Config, providers: Providers): Static<typeof Capabilities> {
  const { auth, email } = config
  const listed = listedProviders(config, providers)
  const isPassword = auth.authMode === 'password'
  const hasEmail = email.host !== undefined
  return {
    auth: {
      mode: auth.authMode,
      hasEmail,
      isInviteRequired: auth.isInviteRequired,
      oauthEnabled: listed.length > 0,
      providers: listed,
      passwordResetEnabled: isPassword && hasEmail,
      registrationEnabled: isPassword && !auth.isInviteRequired,
    },
  }
}
