import { lockUser, recordUserUpdate } from '@parley/accounts'
import { avatarKeys, deleteAvatars } from '@parley/blobs'
import { type Database, isRowId, type Reader, recordJob, uuidv7 } from '@parley/database'

/**
 * Inserts an avatar whose bytes are not stored yet, and returns its version. It replaces another avatar of the person
 * that waits for the worker. @throws ApiError 401 when the person was removed meanwhile.
 */
export const replacePendingAvatar = (db: Database, userId: string, now: number): Promise<string> =>
  db.transaction().execute(async (trx) => {
    await lockUser(trx, userId)
    const pending = await trx
      .deleteFrom('avatars')
      .where('userId', '=', userId)
      .where('readyAt', 'is', null)
      .returning('version')
      .execute()
    const keys = avatarKeys(pending.map(({ version }) => version))
    if (keys.length > 0) await recordJob(trx, 'delete-blobs', { keys })
    const version = uuidv7()
    await trx.insertInto('avatars').values({ version, userId, createdAt: now }).execute()
    return version
  })

/**
 * Records the job that encodes an avatar, after its bytes were stored. Returns false when it was replaced or removed
 * meanwhile.
 */
export const requestEncoding = (db: Database, version: string): Promise<boolean> =>
  db.transaction().execute(async (trx) => {
    const avatar = await trx
      .selectFrom('avatars')
      .select('version')
      .where('version', '=', version)
      .forUpdate()
      .executeTakeFirst()
    if (avatar) await recordJob(trx, 'make-avatar', { version })
    return avatar !== undefined
  })

/** Removes the avatar of a person and records UPDATE_USER if there was one. */
export const removeAvatar = (db: Database, userId: string): Promise<void> =>
  db.transaction().execute(async (trx) => {
    const user = await lockUser(trx, userId)
    await deleteAvatars(trx, userId)
    if (user.avatarVersion === null) return
    await trx.updateTable('users').set({ avatarVersion: null }).where('id', '=', userId).execute()
    await recordUserUpdate(trx, { ...user, avatarVersion: null })
  })

/** An encoded avatar of this person. Served by the primary key. */
export async function findAvatar(db: Reader, userId: string, version: string) {
  if (!isRowId(version) || !isRowId(userId)) return undefined
  return db
    .selectFrom('avatars')
    .select('version')
    .where('version', '=', version)
    .where('userId', '=', userId)
    .where('readyAt', 'is not', null)
    .executeTakeFirst()
}
