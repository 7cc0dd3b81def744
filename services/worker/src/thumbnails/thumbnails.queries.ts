import type { Database } from '@parley/database'

/** An image that is still to get a thumbnail. */
export const findImage = (db: Database, filename: string) =>
  db
    .selectFrom('uploads')
    .select(['filename', 'contentType', 'thumbnailType'])
    .where('filename', '=', filename)
    .where('kind', '=', 'image')
    .executeTakeFirst()

/** Shows the thumbnail to readers; answers false when the image is gone. */
export async function updateThumbnail(
  db: Database,
  filename: string,
  thumbnail: { thumbnailType: string; thumbnailSize: number },
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('uploads')
    .set(thumbnail)
    .where('filename', '=', filename)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}
