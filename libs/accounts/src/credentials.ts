import { audit, type Transaction, type UserRow } from '@parley/database'
import { clearGuesses } from './guesses.ts'
import { deletePasswordLinks } from './one-time-links.ts'
import { endSessions } from './sessions.ts'

export interface PasswordChange {
  userId: string
  /** As `hashPassword` answers it. */
  passwordHash: string
  /** The one session that stays. */
  except?: string
  /** Who gives it, if it is not the person. */
  actorId?: string
  ip: string | null
  now: number
}

/**
 * Gives a live person a password, by a link that was mailed to them or by an admin. Whatever came in by the old one ends: their
 * sessions, and links by which a password could be set. Answers undefined when there is no such person.
 */
export async function setPassword(trx: Transaction, change: PasswordChange): Promise<UserRow | undefined> {
  const { userId, passwordHash, except, actorId, ip, now } = change
  const user = await trx
    .updateTable('users')
    .set({ passwordHash, emailUnproven: false })
    .where('id', '=', userId)
    .where('removedAt', 'is', null)
    .returningAll()
    .executeTakeFirst()
  if (!user) return undefined
  await endSessions(trx, { userId, except, reason: 'password changed', actorId, ip, now })
  await deletePasswordLinks(trx, user.email)
  await clearGuesses(trx, user.email)
  return user
}

/**
 * To be called when somebody signs in who has shown that the address is theirs. Who registered with it before them, without
 * showing that, is out: the password is gone and the sessions have ended.
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
