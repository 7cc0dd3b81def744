import type { JobData } from '@parley/contract'
import { isActive, isUnset } from '@parley/database'
import type { Deps } from '@parley/service'

/**
 * Whether a mail may still be sent: its person may have been removed or deactivated since it was recorded. A mail to
 * somebody without an account names no person, and neither does a mail that an earlier version recorded. Both are sent.
 */
export async function mayReceive(
  { db, clock, logger }: Pick<Deps, 'db' | 'clock' | 'logger'>,
  { userId }: JobData<'send-mail'>,
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
