import { forbidden, notFound } from '@parley/contract'
import type { ChannelRow, Reader, UploadRow } from '@parley/database'
import type { Caller } from '@parley/identity'
import { sql } from 'kysely'

/**
 * The file with this name, for its uploader and whoever may read a message that has it.
 * @throws ApiError 404 when there is no such file, 403 when the caller has no access.
 */
export async function accessFile(db: Reader, caller: Caller, filename: string): Promise<UploadRow> {
  const file = await findStored(db, filename)
  if (file?.kind !== 'file') throw notFound('file')
  if (file.uploadedBy === caller.userId || (await isOnReadableMessage(db, caller, filename))) return file
  throw forbidden('You have no access to this file')
}

/**
 * The image with this name in a channel or conversation that the caller may read. One that was on a message and is on none
 * any more is its uploader's alone.
 * @throws ApiError 404 when there is none here.
 */
export async function accessImage(
  db: Reader,
  caller: Caller,
  channel: Pick<ChannelRow, 'id'>,
  filename: string,
): Promise<UploadRow> {
  const image = await findStored(db, filename)
  if (image?.kind !== 'image' || image.channelId !== channel.id) throw notFound('image')
  const { idleSince, createdAt, uploadedBy } = image
  const isTakenOff = idleSince !== null && idleSince > createdAt
  if (isTakenOff && uploadedBy !== caller.userId) throw notFound('image')
  return image
}

const findStored = (db: Reader, filename: string): Promise<UploadRow | undefined> =>
  db
    .selectFrom('uploads')
    .selectAll()
    .where('filename', '=', filename)
    .where('storedAt', 'is not', null)
    .executeTakeFirst()

/** Served by message_uploads_of_file and primary keys. */
async function isOnReadableMessage(db: Reader, { userId, isAdmin }: Caller, filename: string): Promise<boolean> {
  const { rows } = await sql<{ found: boolean }>`
    select exists (
      select from message_uploads held
        join messages m on m.id = held.message_id and m.deleted_at is null
        join channels c on c.id = m.channel_id and c.deleted_at is null
      where held.filename = ${filename} and (
        c.kind = 'public' or c.kind = 'private' and ${isAdmin}::boolean or exists (
          select from channel_members member where member.channel_id = c.id and member.user_id = ${userId}))
    ) as found`.execute(db)
  return rows[0]!.found
}
