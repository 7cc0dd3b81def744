import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Deps } from '@parley/service'
import { capabilityRoutes } from './capabilities/capabilities.routes.ts'
import { currentUserRoutes } from './current-user/current-user.routes.ts'
import { devLoginRoutes } from './dev-login/dev-login.routes.ts'
import { oauthRoutes } from './oauth/oauth.routes.ts'
import { logoutRoutes } from './sessions/logout.routes.ts'
import { refreshRoutes } from './sessions/refresh.routes.ts'
import { sessionRoutes } from './sessions/sessions.routes.ts'

/** Signing in, sessions and tokens. */
export const auth =
  (deps: Deps): FastifyPluginAsyncTypebox =>
  async (app) => {
    await app.register(capabilityRoutes(deps))
    await app.register(devLoginRoutes(deps))
    await app.register(oauthRoutes(deps))
    await app.register(currentUserRoutes())
    await app.register(refreshRoutes(deps))
    await app.register(logoutRoutes(deps))
    await app.register(sessionRoutes(deps))
  }
