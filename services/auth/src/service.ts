import cookie from '@fastify/cookie'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { createPasswordHasher, ensureFirstStart, type PasswordHasher } from '@parley/accounts'
import { isDatabaseAway, isSchemaMissing } from '@parley/database'
import type { Deps } from '@parley/service'
import { metric } from '@parley/telemetry'
import { capabilityRoutes } from './capabilities/capabilities.routes.ts'
import { devLoginRoutes } from './dev-login/dev-login.routes.ts'
import { magicLinkRoutes } from './magic-link/magic-link.routes.ts'
import { oauthRoutes } from './oauth/oauth.routes.ts'
import { passwordLoginRoutes } from './password/password-login.routes.ts'
import { passwordResetRoutes } from './password-reset/password-reset.routes.ts'
import { registrationRoutes } from './registration/registration.routes.ts'
import { sessionRoutes } from './sessions/sessions.routes.ts'

const retryMs = 1_000

/** Signing in, sessions and tokens. */
export const auth =
  (deps: Deps, passwords: PasswordHasher = measuredHasher(deps)): FastifyPluginAsyncTypebox =>
  async (app) => {
    await app.register(cookie)
    await app.register(capabilityRoutes(deps))
    await app.register(devLoginRoutes(deps))
    await app.register(magicLinkRoutes(deps))
    await app.register(passwordLoginRoutes(deps, passwords))
    await app.register(registrationRoutes(deps, passwords))
    await app.register(passwordResetRoutes(deps, passwords))
    await app.register(oauthRoutes(deps))
    await app.register(sessionRoutes(deps))
  }

function measuredHasher({ metrics }: Deps): PasswordHasher {
  const derivations = metrics.counter(metric.passwordDerivations)
  return createPasswordHasher({ onOutcome: (outcome) => derivations.with({ outcome }).add() })
}

/**
 * Creates the initial admin and the channel General in a fresh database. When the database is away or not migrated yet, the service
 * starts all the same, and this is repeated until it succeeds.
 */
export function createFirstStart({ db, config, clock, logger }: Deps) {
  let retry: NodeJS.Timeout | undefined

  async function start(): Promise<void> {
    try {
      if (await ensureFirstStart(db, config, clock())) logger.info('created the initial admin')
    } catch (error) {
      if (!isDatabaseAway(error) && !isSchemaMissing(error)) throw error
      logger.warn({ err: error }, 'the database is away or has no schema yet, the first start waits for it')
      retry = setTimeout(() => start().catch(logFailure), retryMs)
    }
  }

  const logFailure = (error: unknown) => logger.error({ err: error }, 'the first start failed')

  return { start, stop: async () => clearTimeout(retry) }
}
