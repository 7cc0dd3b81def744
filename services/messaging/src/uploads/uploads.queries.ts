import { type Database, type Transaction, type UploadRow, uuidv7 } from '@parley/database'
import { sql } from 'kysely'

export interface NewUpload {
  kind: UploadRow['kind']
  channelId: string | null
  originalName: string
  extension: string
  contentType: string
  size: number
  digest: Buffer
  uploadedBy: string
  createdAt: number
}

/** Enters an upload whose bytes are yet to be stored; answers the name made for it. */
export async function insertUpload(db: Database, { extension, createdAt, ...upload }: NewUpload): Promise<string> {
  const filename = `${uuidv7()}.${extension}`
  await db
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
