import { lockByName, type Transaction, type UploadRow, uuidv7 } from '@parley/database'
import { sql } from 'kysely'

export interface NewUpload {
  kind: UploadRow['kind']
  channelId: string | null
  originalName: string
  extension: string
  contentType: string
  size: number
  thumbnailSize: number
  width: number | null
  height: number | null
  digest: Buffer
  uploadedBy: string
  createdAt: number
  /** The stored name; without it, a name is generated. */
  filename?: string | undefined
}

/** Locks the uploads of a person: until the transaction ends, no other transaction inserts one. */
export const lockUploader = (trx: Transaction, userId: string) => lockByName(trx, `uploads of ${userId}`)

/**
 * The total size of somebody's unattached uploads. An upload whose bytes are not stored counts only if it was created
 * after `storingSince`. Served by the index uploads_idle_of_person alone.
 */
export async function sumUnattached(
  trx: Transaction,
  userId: string,
  { least, storingSince }: { least: number; storingSince: number },
): Promise<number> {
  const { rows } = await sql<{ bytes: number }>`
    select coalesce(sum(greatest(size + thumbnail_size, ${least}::bigint)), 0)::bigint as bytes from uploads
    where uploaded_by = ${userId} and idle_since is not null
      and (stored_at is not null or created_at > ${storingSince})`.execute(trx)
  return rows[0]!.bytes
}

/** With the UUID of 36 characters, two separators and the extension, a stored name stays within `limits.storedName`. */
const longestShownName = 50

/**
 * The readable part of the stored name of an image. Messages contain only the stored name of an image, so that name
 * ends in the original name. It keeps only characters that need no escaping in an address, a file system or a bucket.
 */
function shownName(originalName: string): string {
  const stem = originalName.replace(/\.[^.]*$/, '').replaceAll(/[^A-Za-z0-9_-]+/g, '-')
  const shown = stem.slice(0, longestShownName).replaceAll(/^-+|-+$/g, '')
  return shown === '' ? '' : `-${shown}`
}

/** Inserts an upload whose bytes are not stored yet. Returns its name; undefined when an upload has the given name already. */
export async function insertUpload(
  trx: Transaction,
  { extension, createdAt, ...upload }: NewUpload,
): Promise<string | undefined> {
  const made = `${uuidv7()}${upload.kind === 'image' ? shownName(upload.originalName) : ''}.${extension}`
  const { filename = made } = upload
  const { numInsertedOrUpdatedRows } = await trx
    .insertInto('uploads')
    .values({ ...upload, filename, createdAt, idleSince: createdAt })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirstOrThrow()
  return numInsertedOrUpdatedRows === 1n ? filename : undefined
}

/**
 * Marks an upload as stored: from now on it can be read and attached to messages. Returns false when the clean-up has
 * removed it meanwhile.
 */
export async function updateStored(
  trx: Transaction,
  filename: string,
  stored: { thumbnailType: string | null; storedAt: number },
): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('uploads')
    .set(stored)
    .where('filename', '=', filename)
    .executeTakeFirstOrThrow()
  return numUpdatedRows === 1n
}

/** These uploads, locked in the order of their names until the transaction ends. */
export const lockUploads = (trx: Transaction, filenames: readonly string[]): Promise<UploadRow[]> =>
  trx
    .selectFrom('uploads')
    .selectAll()
    .where('filename', '=', sql<string>`any(${filenames}::text[])`)
    .orderBy('filename')
    .forUpdate()
    .execute()

/** Whether a message has one of these uploads. Served by message_uploads_of_file. */
export async function isAnyUsed(trx: Transaction, filenames: readonly string[]): Promise<boolean> {
  const used = trx
    .selectFrom('messageUploads')
    .select('filename')
    .where('filename', '=', sql<string>`any(${filenames}::text[])`)
  return (await used.limit(1).executeTakeFirst()) !== undefined
}

/**
 * Attaches locked uploads to a message, so that the clean-up keeps them. Images without a channel get the channel of
 * the message.
 */
export async function insertMessageUploads(
  trx: Transaction,
  { id: messageId, channelId }: { id: string; channelId: string },
  filenames: readonly string[],
) {
  await trx
    .insertInto('messageUploads')
    .values(filenames.map((filename) => ({ messageId, filename })))
    .execute()
  await trx
    .updateTable('uploads')
    .set({
      idleSince: null,
      channelId: sql<string | null>`case kind when 'image' then coalesce(channel_id, ${channelId}::uuid) end`,
    })
    .where('filename', '=', sql<string>`any(${filenames}::text[])`)
    .execute()
}
