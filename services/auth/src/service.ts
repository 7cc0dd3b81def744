import cookie from '@fastify/cookie'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { createPasswordHasher, type PasswordHasher } from '@parley/accounts'
import type { Deps } from '@parley/service'
import { metric } from '@parley/telemetry'
import { capabilityRoutes } from './capabilities/capabilities.routes.ts'
import { devLoginRoutes } from './dev-login/dev-login.routes.ts'
import { magicLinkRoutes } from './magic-link/magic-link.routes.ts'
import { backchannelLogoutRoutes } from './oauth/backchannel-logout.routes.ts'
import { oauthRoutes } from './oauth/oauth.routes.ts'
import { configuredProviders } from './oauth/providers.ts'
import { createPasswordVerifier } from './password/current-password.ts'
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
import { logoutRoutes } from './sessions/logout.routes.ts'
import { sessionRoutes } from './sessions/sessions.routes.ts'
import { createSignIns } from './sessions/sign-in.ts'
import { botTokenRoutes } from './tokens/bot-tokens.routes.ts'
import { scimClientRoutes } from './tokens/scim-clients.routes.ts'
import { tokenRoutes } from './tokens/tokens.routes.ts'

/** Signing in, sessions and tokens. */
export const auth =
  (deps: Deps, passwords: PasswordHasher = measuredHasher(deps)): FastifyPluginAsyncTypebox =>
  async (app) => {
    const providers = configuredProviders(deps)
    const passkeys = createPasskeys(deps.config)
    const proofs = createProofs(deps, passkeys)
    const signIns = createSignIns(deps)
    const verifyCurrentPassword = createPasswordVerifier(deps, passwords, signIns)
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
    await app.register(sessionRoutes(deps))
    await app.register(logoutRoutes(deps, providers))
    await app.register(tokenRoutes(deps, confirmations))
    await app.register(botTokenRoutes(deps, confirmations))
    await app.register(scimClientRoutes(deps, confirmations))
  }

function measuredHasher({ metrics }: Deps): PasswordHasher {
  const derivations = metrics.counter(metric.passwordDerivations)
  return createPasswordHasher({ onOutcome: (outcome) => derivations.with({ outcome }).add() })
}
