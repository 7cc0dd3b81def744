import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { createPasswordHasher, type PasswordHasher } from '@parley/accounts'
import type { Deps } from '@parley/service'
import { metric } from '@parley/telemetry'
import { capabilityRoutes } from './capabilities/capabilities.routes.ts'
import { currentUserRoutes } from './current-user/current-user.routes.ts'
import { devLoginRoutes } from './dev-login/dev-login.routes.ts'
import { magicLinkRoutes } from './magic-link/magic-link.routes.ts'
import { oauthRoutes } from './oauth/oauth.routes.ts'
import { passwordLoginRoutes } from './password/password-login.routes.ts'
import { passwordResetRoutes } from './password-reset/password-reset.routes.ts'
import { registrationRoutes } from './registration/registration.routes.ts'
import { logoutRoutes } from './sessions/logout.routes.ts'
import { refreshRoutes } from './sessions/refresh.routes.ts'
import { sessionRoutes } from './sessions/sessions.routes.ts'

/** Signing in, sessions and tokens. */
export const auth =
  (deps: Deps, passwords: PasswordHasher = measuredHasher(deps)): FastifyPluginAsyncTypebox =>
  async (app) => {
    await app.register(capabilityRoutes(deps))
    await app.register(devLoginRoutes(deps))
    await app.register(magicLinkRoutes(deps))
    await app.register(passwordLoginRoutes(deps, passwords))
    await app.register(registrationRoutes(deps, passwords))
    await app.register(passwordResetRoutes(deps, passwords))
    await app.register(oauthRoutes(deps))
    await app.register(currentUserRoutes())
    await app.register(refreshRoutes(deps))
    await app.register(logoutRoutes(deps))
    await app.register(sessionRoutes(deps))
  }

function measuredHasher({ metrics }: Deps): PasswordHasher {
  const derivations = metrics.counter(metric.passwordDerivations)
  return createPasswordHasher({ onOutcome: (outcome) => derivations.with({ outcome }).add() })
}
