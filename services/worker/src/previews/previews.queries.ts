import type { Preview } from '@parley/contract'
import { type Database, isRowId, type Transaction } from '@parley/database'

/** The page or image behind a link. */
export interface FoundPage {
  title: string
  description: string | null
  siteName: string | null
  image: { bytes: Buffer; width: number; height: number } | null
}

/**
 * The cached page of a link: null when there is nothing to show, undefined when the link must be fetched. Served by the
 * primary key.
 */
export async function findCachedPage(
  db: Database,
  urlHash: Buffer,
  now: number,
): Promise<FoundPage | null | undefined> {
  const row = await db
    .selectFrom('linkPreviews')
    .selectAll()
    .where('urlHash', '=', urlHash)
    .where('expiresAt', '>', now)
    .executeTakeFirst()
  if (!row) return undefined
  const { title, description, siteName, image, imageWidth, imageHeight } = row
  if (title === null) return null
  const found = image && { bytes: image, width: imageWidth!, height: imageHeight! }
  return { title, description, siteName, image: found }
}

/** When two workers fetch the same link at the same time, the later result is kept. */
export async function cachePage(db: Database, urlHash: Buffer, page: FoundPage | null, expiresAt: number) {
  const { title = null, description = null, siteName = null, image = null } = page ?? {}
  const { bytes = null, width = null, height = null } = image ?? {}
  const row = { title, description, siteName, image: bytes, imageWidth: width, imageHeight: height, expiresAt }
  await db
    .insertInto('linkPreviews')
    .values({ urlHash, ...row })
    .onConflict((conflict) => conflict.column('urlHash').doUpdateSet(row))
    .execute()
}

/** A message that is not deleted, with the columns that its previews depend on. */
export const findLinked = async (db: Database, messageId: string) =>
  isRowId(messageId)
    ? db
        .selectFrom('messages')
        .select(['id', 'channelId', 'content', 'previews'])
        .where('id', '=', messageId)
        .where('deletedAt', 'is', null)
        .executeTakeFirst()
    : undefined

/** The channel must be locked. */
export const lockLinked = (trx: Transaction, messageId: string) =>
  trx
    .selectFrom('messages')
    .select(['content', 'previews', 'rev'])
    .where('id', '=', messageId)
    .where('deletedAt', 'is', null)
    .forUpdate()
    .executeTakeFirst()

export const updatePreviews = (trx: Transaction, messageId: string, rev: number, previews: readonly Preview[]) =>
  trx
    .updateTable('messages')
    .set({ previews: previews.length === 0 ? null : JSON.stringify(previews), rev })
    .where('id', '=', messageId)
    .execute()

export interface PreviewImage {
  filename: string
  channelId: string
  size: number
  width: number
  height: number
  digest: Buffer
}

/** Until a message has the image, the clean-up treats it like any unattached upload. */
export const insertImage = (db: Database, image: PreviewImage, createdAt: number) =>
  db
    .insertInto('uploads')
    .values({
      ...image,
      kind: 'image',
      originalName: 'preview.webp',
      contentType: 'image/webp',
      thumbnailType: null,
      uploadedBy: null,
      createdAt,
      storedAt: null,
      idleSince: createdAt,
    })
    .execute()

/**
 * Attaches images to the message. Returns false when the clean-up has deleted one meanwhile. They are locked in the
 * order of their names.
 */
export async function attachImages(
  trx: Transaction,
  messageId: string,
  filenames: readonly string[],
  now: number,
): Promise<boolean> {
  for (const filename of filenames.toSorted()) {
    const { numUpdatedRows } = await trx
      .updateTable('uploads')
      .set({ idleSince: null, storedAt: now })
      .where('filename', '=', filename)
      .executeTakeFirstOrThrow()
    if (numUpdatedRows === 0n) return false
    await trx.insertInto('messageUploads').values({ messageId, filename }).execute()
  }
  return true
}
