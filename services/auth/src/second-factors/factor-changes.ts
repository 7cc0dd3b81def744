import { applyFactorChange, mailNotice } from '@parley/accounts'
import type { Config } from '@parley/config'
import { audit, type Transaction, type UserRow } from '@parley/database'
import type { SignInOrigin } from '../sessions/sign-in.ts'

interface RecordedChange {
  user: UserRow
  /** The session that makes the change. */
  sessionId: string
  factor: 'totp' | 'passkey'
  change: 'create' | 'delete'
  /** For the audit log. */
  metadata?: Record<string, unknown>
  origin: SignInOrigin
}

const names = { totp: 'authenticator app', passkey: 'passkey' } as const

/** Updates the caller's sessions, audits the change and mails the caller. Call it after a second factor was set up or removed. */
export async function recordFactorChange(
  trx: Transaction,
  config: Config,
  { user, sessionId, factor, change, metadata, origin }: RecordedChange,
): Promise<void> {
  const { ip, now } = origin
  await applyFactorChange(trx, { user, sessionId, mfaRequired: config.auth.mfa === 'required', ip, now })
  await audit(trx, {
    action: `mfa.${factor}.${change}`,
    actorId: user.id,
    targetType: 'user',
    targetId: user.id,
    ...(metadata && { metadata }),
    ip,
  })
  await mailNotice(trx, config, {
    user,
    notice: `${names[factor]} ${change === 'create' ? 'added' : 'removed'}`,
    ...origin,
  })
}
