import { audit, type Transaction, type UserRow } from '@parley/database'
import { clearGuesses } from './guesses.ts'
import { deletePasswordLinks } from './one-time-links.ts'
import { deleteSecondFactors, findSecondFactors } from './second-factors.ts'
import { endSessions, forgetDevices } from './session-endings.ts'

interface PasswordChange {
  userId: string
  /** The result of `hashPassword`. */
  passwordHash: string
  /** Whether the person has followed a mailed link, which proves that the address is theirs. */
  provesEmail?: boolean
  /** A session that does not end. */
  except?: string
  /** Who sets the password, if not the person. */
  actorId?: string
  ip: string | null
  now: number
}

/**
 * Sets the password of a live person. Ends the person's sessions and deletes the links that could set a password. If
 * the change proves the address of the person for the first time, everything else that signs in ends too, as in
 * `proveEmail`. Returns undefined when there is no such person, or it is a bot.
 */
export async function setPassword(trx: Transaction, change: PasswordChange): Promise<UserRow | undefined> {
  const { userId, passwordHash, provesEmail = false, except, actorId, ip, now } = change
  if (provesEmail) await endUnprovenAccess(trx, userId, { ip, now })
  const user = await trx
    .updateTable('users')
    .set({ passwordHash })
    .where('id', '=', userId)
    .where('removedAt', 'is', null)
    .where('isBot', '=', false)
    .returningAll()
    .executeTakeFirst()
  if (!user) return undefined
  await endSessions(trx, { userId, except, reason: 'password changed', actorId, ip, now })
  // `endSessions` forgets them too, but only when it ends all sessions.
  if (except !== undefined) await forgetDevices(trx, userId)
  await deletePasswordLinks(trx, user.email)
  await clearGuesses(trx, user.email)
  return user
}

interface Proof {
  ip: string | null
  now: number
}

/**
 * Call it when somebody signs in who has proven that the address is theirs. If the account was registered without such
 * a proof, its password, second factors and API tokens are removed and its sessions end, because somebody else may have
 * registered it.
 */
export async function proveEmail(
  trx: Transaction,
  { id, emailUnproven }: Pick<UserRow, 'id' | 'emailUnproven'>,
  { ip, now }: Proof,
): Promise<void> {
  if (!emailUnproven || !(await endUnprovenAccess(trx, id, { ip, now }))) return
  await audit(trx, {
    action: 'user.password.reset',
    actorId: id,
    targetType: 'user',
    targetId: id,
    metadata: { reason },
    ip,
  })
}

const reason = 'address proven'

/** Marks the address as proven and ends all access from before the proof. Returns false when it was proven before. */
async function endUnprovenAccess(trx: Transaction, userId: string, { ip, now }: Proof): Promise<boolean> {
  const proven = await trx
    .updateTable('users')
    .set({ passwordHash: null, emailUnproven: false, secondFactorSince: null })
    .where('id', '=', userId)
    .where('emailUnproven', '=', true)
    .returning('id')
    .executeTakeFirst()
  if (!proven) return false
  await endSessions(trx, { userId, reason, ip, now })
  await removeSecondFactors(trx, userId, ip)
  return true
}

async function removeSecondFactors(trx: Transaction, userId: string, ip: string | null): Promise<void> {
  const { hasTotp, passkeys } = await findSecondFactors(trx, userId)
  await deleteSecondFactors(trx, userId)
  if (!hasTotp && passkeys === 0) return
  const metadata = { totp: hasTotp, passkeys, reason }
  await audit(trx, { action: 'mfa.reset', actorId: userId, targetType: 'user', targetId: userId, metadata, ip })
}
