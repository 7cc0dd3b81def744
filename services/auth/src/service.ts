import cookie from '@fastify/cookie'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { applyMfaPolicy, createPasswordHasher, ensureFirstStart, type PasswordHasher } from '@parley/accounts'
import { isDatabaseUnavailable, isSchemaMissing } from '@parley/database'
import type { Deps } from '@parley/service'
import { metric } from '@parley/telemetry'
import { capabilityRoutes } from './capabilities/capabilities.routes.ts'
import { devLoginRoutes } from './dev-login/dev-login.routes.ts'
import { magicLinkRoutes } from './magic-link/magic-link.routes.ts'
import { backchannelLogoutRoutes } from './oauth/backchannel-logout.routes.ts'
import { oauthRoutes } from './oauth/oauth.routes.ts'
import { configuredProviders } from './oauth/providers.ts'
import { createCurrentPassword } from './password/current-password.ts'
import { passwordChangeRoutes } from './password/password-change.routes.ts'
import { passwordLoginRoutes } from './password/password-login.routes.ts'
import { passwordResetRoutes } from './password-reset/password-reset.routes.ts'
import { providerTestRoutes } from './provider-tests/provider-tests.routes.ts'
import { registrationRoutes } from './registration/registration.routes.ts'
import { samlRoutes } from './saml/saml.routes.ts'
import { createConfirmations } from './second-factors/confirmations.ts'
import { mfaRoutes } from './second-factors/mfa.routes.ts'
import { passkeyRoutes } from './second-factors/passkeys.routes.ts'
import { createPasskeys } from './second-factors/passkeys.ts'
import { createProofs } from './second-factors/proofs.ts'
import { totpRoutes } from './second-factors/totp.routes.ts'
import { sessionRoutes } from './sessions/sessions.routes.ts'
import { createSignIns } from './sessions/sign-in.ts'
import { botTokenRoutes } from './tokens/bot-tokens.routes.ts'
import { scimClientRoutes } from './tokens/scim-clients.routes.ts'
import { tokenRoutes } from './tokens/tokens.routes.ts'

const retryMs = 1_000

/** Signing in, sessions and tokens. */
export const auth =
  (deps: Deps, passwords: PasswordHasher = measuredHasher(deps)): FastifyPluginAsyncTypebox =>
  async (app) => {
    const providers = configuredProviders(deps)
    const passkeys = createPasskeys(deps.config)
    const proofs = createProofs(deps, passkeys)
    const signIns = createSignIns(deps)
    const verifyCurrentPassword = createCurrentPassword(deps, passwords, signIns)
    const confirmations = createConfirmations(deps, proofs, verifyCurrentPassword)
    await app.register(cookie)
    await app.register(capabilityRoutes(deps, providers))
    await app.register(devLoginRoutes(deps, signIns))
    await app.register(magicLinkRoutes(deps, signIns))
    await app.register(passwordLoginRoutes(deps, passwords, signIns))
    await app.register(passwordChangeRoutes(deps, passwords, proofs, verifyCurrentPassword, signIns))
    await app.register(registrationRoutes(deps, passwords, signIns))
    await app.register(passwordResetRoutes(deps, passwords, signIns))
    await app.register(oauthRoutes(deps, providers))
    await app.register(backchannelLogoutRoutes(deps, providers))
    await app.register(samlRoutes(deps))
    await app.register(providerTestRoutes(deps))
    await app.register(mfaRoutes(deps, proofs, signIns))
    await app.register(totpRoutes(deps, proofs, confirmations))
    await app.register(passkeyRoutes(deps, passkeys, confirmations, signIns))
    await app.register(sessionRoutes(deps, providers))
    await app.register(tokenRoutes(deps, confirmations))
    await app.register(botTokenRoutes(deps, confirmations))
    await app.register(scimClientRoutes(deps, confirmations))
  }

function measuredHasher({ metrics }: Deps): PasswordHasher {
  const derivations = metrics.counter(metric.passwordDerivations)
  return createPasswordHasher({ onOutcome: (outcome) => derivations.with({ outcome }).add() })
}

/**
 * Creates the initial admin and the channel General in an empty database, and updates the sessions when `auth.mfa` was
 * changed. When the database is unavailable or not migrated yet, the service starts nevertheless, and repeats this
 * until it succeeds.
 */
export function createFirstStart({ db, config, clock, logger }: Deps) {
  let retry: NodeJS.Timeout | undefined
  let isStopped = false

  async function start(): Promise<void> {
    try {
      if (await ensureFirstStart(db, config, clock())) logger.info('created the initial admin')
      const changed = await db.transaction().execute((trx) => applyMfaPolicy(trx, config.auth.mfa === 'required'))
      if (changed > 0) logger.info({ sessions: changed }, 'updated sessions to the new auth.mfa')
    } catch (error) {
      // The end of the connections interrupts an attempt.
      if (isStopped) return
      if (!isDatabaseUnavailable(error) && !isSchemaMissing(error)) throw error
      logger.warn(
        { err: error },
        'the database is unavailable or has no schema yet; the set-up of the first start is tried again',
      )
      retry = setTimeout(() => start().catch(logFailure), retryMs)
    }
  }

  const logFailure = (error: unknown) => logger.error({ err: error }, 'the set-up of the first start failed')

  async function stop(): Promise<void> {
    isStopped = true
    clearTimeout(retry)
  }

  return { start, stop }
}
