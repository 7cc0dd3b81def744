import { buffer } from 'node:stream/consumers'
import { recordUserUpdate } from '@parley/accounts'
import { avatarKey, avatarKeys, avatarSides, BlobMissing } from '@parley/blobs'
import type { JobData } from '@parley/contract'
import { type Database, isRowId, recordJob, userFields } from '@parley/database'
import type { Deps } from '@parley/service'
import { type EncoderOptions, encodeImage, UnreadableImage } from './encoder.ts'

const contentType = 'image/webp'

/**
 * Encodes a new avatar to its squares, makes it the person's avatar and records UPDATE_USER. It may be repeated. The
 * person's earlier avatar is deleted in the same transaction. An image that cannot be read is deleted, and the person
 * keeps the earlier avatar.
 */
export async function makeAvatar(
  { db, blobs, logger, clock }: Pick<Deps, 'db' | 'blobs' | 'logger' | 'clock'>,
  { version }: JobData<'make-avatar'>,
  options?: EncoderOptions,
): Promise<void> {
  const avatar = await findAvatar(db, version)
  // The avatar was replaced or removed. An earlier attempt may have stored squares.
  if (!avatar) return blobs.delete(avatarKeys([version]))
  if (avatar.readyAt !== null) return

  try {
    const original = await buffer(await blobs.get(avatarKey(version, 'original')))
    for (const side of avatarSides) {
      const bytes = await encodeImage(original, { side, fit: 'cover' }, options)
      await blobs.put(avatarKey(version, side), bytes, { size: bytes.length, contentType })
    }
  } catch (error) {
    if (!(error instanceof UnreadableImage || error instanceof BlobMissing)) throw error
    logger.info({ userId: avatar.userId, reason: error.message }, 'an avatar cannot be read')
    await deletePending(db, version)
    return
  }
  if (!(await showAvatar(db, { ...avatar, version }, clock()))) await blobs.delete(avatarKeys([version]))
}

const findAvatar = async (db: Database, version: string) =>
  isRowId(version)
    ? db.selectFrom('avatars').select(['userId', 'readyAt']).where('version', '=', version).executeTakeFirst()
    : undefined

const deletePending = (db: Database, version: string) =>
  db.transaction().execute(async (trx) => {
    const { numDeletedRows } = await trx
      .deleteFrom('avatars')
      .where('version', '=', version)
      .where('readyAt', 'is', null)
      .executeTakeFirstOrThrow()
    // Otherwise another worker has encoded it, or it was removed already.
    if (numDeletedRows > 0n) await recordJob(trx, 'delete-blobs', { keys: avatarKeys([version]) })
  })

/** Returns false when the avatar was replaced or removed meanwhile. Rows of people must be locked before those of avatars. */
const showAvatar = (
  db: Database,
  { userId, version }: { userId: string; version: string },
  now: number,
): Promise<boolean> =>
  db.transaction().execute(async (trx) => {
    const user = await trx
      .selectFrom('users')
      .select(userFields)
      .where('id', '=', userId)
      .where('removedAt', 'is', null)
      .forNoKeyUpdate()
      .executeTakeFirst()
    const avatar = await trx
      .selectFrom('avatars')
      .select('readyAt')
      .where('version', '=', version)
      .forUpdate()
      .executeTakeFirst()
    if (!user || !avatar) return false
    // Another worker has done this job at the same time.
    if (avatar.readyAt !== null) return true

    await trx.updateTable('avatars').set({ readyAt: now }).where('version', '=', version).execute()
    const earlier = await trx
      .deleteFrom('avatars')
      .where('userId', '=', userId)
      .where('version', '<>', version)
      .where('readyAt', 'is not', null)
      .returning('version')
      .execute()
    const keys = [avatarKey(version, 'original'), ...avatarKeys(earlier.map((each) => each.version))]
    await recordJob(trx, 'delete-blobs', { keys })
    await trx.updateTable('users').set({ avatarVersion: version }).where('id', '=', userId).execute()
    await recordUserUpdate(trx, { ...user, avatarVersion: version })
    return true
  })
