import { anyOf, recordJob, type Transaction } from '@parley/database'
import { sql } from 'kysely'

/** The key of an upload's thumbnail in the blob store; that of the upload itself is its `filename`. */
export const thumbnailKey = (filename: string) => `${filename}.thumbnail`

/**
 * Removes the uploads from these messages, all of which are deleted or edited in this transaction. With `only`, removes
 * just those uploads. An upload that no message has any more is idle from `now` on. The uploads are locked first, in
 * the order of their names. So when two transactions remove an upload from its last two messages, the second one sees
 * that no message has it any more.
 */
export async function releaseUploads(
  trx: Transaction,
  messageIds: readonly string[],
  now: number,
  only?: readonly string[],
): Promise<void> {
  const held = await trx
    .selectFrom('uploads')
    .select('filename')
    .where('filename', 'in', (eb) =>
      eb
        .selectFrom('messageUploads')
        .select('filename')
        .where('messageId', '=', anyOf(messageIds))
        .$if(only !== undefined, (query) => query.where('filename', '=', sql<string>`any(${only}::text[])`)),
    )
    .orderBy('filename')
    .forUpdate()
    .execute()
  if (held.length === 0) return
  const filenames = held.map(({ filename }) => filename)

  await sql`
    delete from message_uploads
    where message_id = any(${messageIds}::uuid[]) and filename = any(${filenames}::text[])`.execute(trx)
  await sql`
    update uploads set idle_since = greatest(${now}::bigint, created_at + 1)
    where filename = any(${filenames}::text[])
      and not exists (select from message_uploads m where m.filename = uploads.filename)`.execute(trx)
}

/** The sides of the squares that an avatar is encoded to, in pixels. */
export const avatarSides = [64, 256] as const
export type AvatarSide = (typeof avatarSides)[number]

/** The key of an avatar in the blob store: as it was uploaded, or encoded to a square. */
export const avatarKey = (version: string, side: AvatarSide | 'original') => `avatars/${version}.${side}`

/** All keys of these versions. */
export const avatarKeys = (versions: readonly string[]): string[] =>
  versions.flatMap((version) => [...avatarSides, 'original' as const].map((side) => avatarKey(version, side)))

/**
 * Deletes a person's avatars, also those that the worker has not encoded yet, and records the job that deletes their bytes. The
 * row of the person must be locked. Served by avatars_of_user.
 */
export async function deleteAvatars(trx: Transaction, userId: string): Promise<void> {
  const deleted = await trx.deleteFrom('avatars').where('userId', '=', userId).returning('version').execute()
  if (deleted.length === 0) return
  await recordJob(trx, 'delete-blobs', { keys: avatarKeys(deleted.map(({ version }) => version)) })
}
