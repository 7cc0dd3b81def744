import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Config } from '@parley/config'
import type { Deps } from '@parley/service'
import { type Static, Type } from 'typebox'

const Capabilities = Type.Object({
  auth: Type.Object({
    mode: Type.Enum(['dev', 'magic-link', 'password']),
    hasEmail: Type.Boolean({ description: 'The server can send e-mail' }),
    isInviteRequired: Type.Boolean({ description: 'Only people whom an admin added may sign in' }),
    oauthEnabled: Type.Boolean({ description: 'GET /auth/oauth/providers lists at least one provider' }),
    passwordResetEnabled: Type.Boolean({ description: 'People may ask for a reset link by e-mail' }),
    registrationEnabled: Type.Boolean({ description: 'People may register by themselves' }),
  }),
})

const GetCapabilities = {
  summary: 'How people sign in here',
  response: { 200: Capabilities },
}

export const capabilityRoutes =
  ({ config }: Pick<Deps, 'config'>): FastifyPluginAsyncTypebox =>
  async (app) => {
    const capabilities = capabilitiesOf(config)
    for (const path of ['/config.json', '/auth/config']) {
      app.get(path, { schema: GetCapabilities, config: { access: 'none' } }, async () => capabilities)
    }
  }

function capabilitiesOf({ auth, email, oauth }: Config): Static<typeof Capabilities> {
  const isPassword = auth.authMode === 'password'
  const hasEmail = email.host !== undefined
  const presets = Object.values(oauth.presets).filter((preset) => preset !== undefined)
  return {
    auth: {
      mode: auth.authMode,
      hasEmail,
      isInviteRequired: auth.isInviteRequired,
      oauthEnabled: presets.length + oauth.custom.length > 0,
      passwordResetEnabled: isPassword && hasEmail,
      registrationEnabled: isPassword && !auth.isInviteRequired,
    },
  }
}
