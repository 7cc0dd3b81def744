import { canRead } from '@parley/access'
import { type AppResponseRow, type Database, isActive, type Reader } from '@parley/database'
import { sql } from 'kysely'

/** A bot that handles commands or clicks. */
export interface App {
  botId: string
  userName: string
  sealedSigningSecret: string
  interactivityUrl: string | null
}

/** The app of a bot that is not removed or deactivated. Served by primary keys. */
export const findApp = (db: Reader, botId: string): Promise<App | undefined> =>
  selectApps(db).where('apps.botId', '=', botId).executeTakeFirst()

export const selectApps = (db: Reader) =>
  db
    .selectFrom('apps')
    .innerJoin('users', 'users.id', 'apps.botId')
    .select(['apps.botId', 'users.userName', 'apps.sealedSigningSecret', 'apps.interactivityUrl'])
    .where('users.removedAt', 'is', null)
    .where('users.deactivatedAt', 'is', null)

export const insertResponse = (db: Database, response: AppResponseRow) =>
  db.insertInto('appResponses').values(response).execute()

/** An address at which an app may answer later. It may have expired, or have no uses left. Served by the primary key. */
export const findResponse = (db: Reader, id: string): Promise<AppResponseRow | undefined> =>
  db.selectFrom('appResponses').selectAll().where('id', '=', id).executeTakeFirst()

/** The user, if they are active and may read the channel now. Served by primary keys. */
export const findReader = (db: Reader, userId: string, channelId: string, now: number) =>
  db
    .selectFrom('users')
    .innerJoin('channels', (join) => join.on('channels.id', '=', channelId))
    .select(['users.id as userId', 'users.userName'])
    .where('users.id', '=', userId)
    .where('users.removedAt', 'is', null)
    .where(isActive(now))
    .where(canRead('channels', { userId, role: sql.ref('users.role') }))
    .executeTakeFirst()

/** Uses the address once. Returns false when no use is left. */
export async function spendResponseUse(db: Database, id: string): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('appResponses')
    .set({ usesLeft: sql`uses_left - 1` })
    .where('id', '=', id)
    .where('usesLeft', '>', 0)
    .executeTakeFirstOrThrow()
  return numUpdatedRows === 1n
}
