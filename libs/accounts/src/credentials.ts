import { audit, type Transaction, type UserRow } from '@parley/database'
import { clearGuesses } from './guesses.ts'
import { deletePasswordLinks } from './one-time-links.ts'
import { endSessions, forgetDevices } from './sessions.ts'

export interface PasswordChange {
  userId: string
  /** The result of `hashPassword`. */
  passwordHash: string
  /** A session that does not end. */
  except?: string
  /** Who sets the password, if not the person. */
  actorId?: string
  ip: string | null
  now: number
}

/**
 * Sets the password of a live person, after a mailed link was followed or for an admin. Ends the person's sessions and
 * deletes the links that could set a password. Returns undefined when there is no such person, or it is a bot.
 */
export async function setPassword(trx: Transaction, change: PasswordChange): Promise<UserRow | undefined> {
  const { userId, passwordHash, except, actorId, ip, now } = change
  const user = await trx
    .updateTable('users')
    .set({ passwordHash, emailUnproven: false })
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

/**
 * Call it when somebody signs in who has proven that the address is theirs. If the account was registered without such
 * a proof, its password is removed and its sessions end, because somebody else may have registered it.
 */
export async function proveEmail(
  trx: Transaction,
  { id, emailUnproven }: Pick<UserRow, 'id' | 'emailUnproven'>,
  { ip, now }: { ip: string | null; now: number },
): Promise<void> {
  if (!emailUnproven) return
  const proven = await trx
    .updateTable('users')
    .set({ passwordHash: null, emailUnproven: false })
    .where('id', '=', id)
    .where('emailUnproven', '=', true)
    .returning('id')
    .executeTakeFirst()
  if (!proven) return
  await endSessions(trx, { userId: id, reason: 'address proven', ip, now })
  await audit(trx, {
    action: 'user.password.reset',
    actorId: id,
    targetType: 'user',
    targetId: id,
    metadata: { reason: 'address proven' },
    ip,
  })
}
