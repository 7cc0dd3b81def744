import { type Transaction, type UploadRow, uuidv7 } from '@parley/database'
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
}

/** Until the transaction ends, nobody else enters an upload of this person. */
export const lockUploader = (trx: Transaction, userId: string) =>
  sql`select pg_advisory_xact_lock(hashtextextended('uploads of ' || ${userId}::text, 0))`.execute(trx)

/**
 * Bytes of somebody's uploads that no message has. One whose bytes never came to be stored counts until `storingSince` only: it is of no
 * use to anybody. Served by the index uploads_idle_of_person alone.
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

/** Enters an upload whose bytes are yet to be stored; answers the name made for it. */
export async function insertUpload(trx: Transaction, { extension, createdAt, ...upload }: NewUpload): Promise<string> {
  const filename = `${uuidv7()}.${extension}`
  await trx
    .insertInto('uploads')
    .values({ ...upload, filename, createdAt, idleSince: createdAt })
    .execute()
  return filename
}

/** From now on it can be read and put on messages. Answers false when it was collected meanwhile. */
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

/** Puts uploads on a message; they must be locked, and are idle no more. */
export async function insertMessageUploads(trx: Transaction, messageId: string, filenames: readonly string[]) {
  await trx
    .insertInto('messageUploads')
    .values(filenames.map((filename) => ({ messageId, filename })))
    .execute()
  await trx
    .updateTable('uploads')
    .set({ idleSince: null })
    .where('filename', '=', sql<string>`any(${filenames}::text[])`)
    .execute()
}
