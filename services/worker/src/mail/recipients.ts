import { isActive, isUnset } from '@parley/database'
import type { Deps } from '@parley/service'
import type { Mail } from './mailer.ts'

/**
 * Whether a mail may still be sent: its person may have been removed or deactivated since it was recorded. A mail to
 * somebody without an account names no person, and neither does a mail that an earlier version recorded. Both are sent.
 */
export async function mayReceive(
  { db, clock, logger }: Pick<Deps, 'db' | 'clock' | 'logger'>,
  { userId }: Mail,
): Promise<boolean> {
  if (userId === undefined) return true
  const user = await db
    .selectFrom('users')
    .select('id')
    .where('id', '=', userId)
    .where(isUnset('removedAt'))
    .where(isActive(clock()))
    .executeTakeFirst()
  if (!user) logger.info({ userId }, 'a mail was not sent: its person was removed or deactivated')
  return user !== undefined
}
