import type { Transaction, UserRow } from '@parley/database'
import { clearGuesses } from './guesses.ts'
import { deletePasswordLinks } from './one-time-links.ts'
import { endSessions } from './sessions.ts'

export interface PasswordChange {
  userId: string
  /** As `hashPassword` answers it. */
  passwordHash: string
  /** The one session that stays. */
  except?: string
  now: number
}

/**
 * Gives a live person a password. Whatever came in by the old one ends: their sessions, and links by which a password could be
 * set. Answers undefined when there is no such person.
 */
export async function setPassword(trx: Transaction, change: PasswordChange): Promise<UserRow | undefined> {
  const { userId, passwordHash, except, now } = change
  const user = await trx
    .updateTable('users')
    .set({ passwordHash })
    .where('id', '=', userId)
    .where('removedAt', 'is', null)
    .returningAll()
    .executeTakeFirst()
  if (!user) return undefined
  await endSessions(trx, { userId, except, now })
  await deletePasswordLinks(trx, user.email)
  await clearGuesses(trx, user.email)
  return user
}
