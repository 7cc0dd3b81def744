import type { Database } from '@parley/database'
import { sql } from 'kysely'

export const insertBlob = (db: Database, blob: { id: string; key: string; size: number; contentType: string }) =>
  db
    .insertInto('blobs')
    .values({ ...blob, createdAt: sql`now_ms()` })
    .execute()

/** Does not wait for the disk: the statement that completes the blob does, and PostgreSQL flushes its log in order. */
export const insertChunk = (db: Database, { blobId, n, bytes }: { blobId: string; n: number; bytes: Buffer }) =>
  sql`
    with asynchronous as (select set_config('synchronous_commit', 'off', true))
    insert into blob_chunks (blob_id, n, bytes) select ${blobId}::uuid, ${n}::integer, ${bytes}::bytea from asynchronous
  `.execute(db)

/** Shows the blob to readers. Returns false when it was deleted meanwhile. The index blobs_written refuses a key that is taken. */
export async function completeBlob(db: Database, id: string): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('blobs')
    .set({ writtenAt: sql`now_ms()` })
    .where('id', '=', id)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Served by blobs_written. */
export const findBlob = (db: Database, key: string) =>
  db
    .selectFrom('blobs')
    .select(['id', 'size'])
    .where('key', '=', key)
    .where('writtenAt', 'is not', null)
    .executeTakeFirst()

export const findChunk = (db: Database, blobId: string, n: number) =>
  db.selectFrom('blobChunks').select('bytes').where('blobId', '=', blobId).where('n', '=', n).executeTakeFirst()

export const deleteBlob = (db: Database, id: string) => db.deleteFrom('blobs').where('id', '=', id).execute()

/** Writers of these keys fail. Served by blobs_key. */
export const deleteBlobs = (db: Database, keys: readonly string[]) =>
  db.deleteFrom('blobs').where('key', 'in', keys).execute()

/** Deletes at most `limit` unfinished blobs that were begun so long ago. Returns how many. Served by blobs_unfinished. */
export async function deleteUnfinished(db: Database, olderThanMs: number, limit: number): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('blobs')
    .where('writtenAt', 'is', null)
    .where('id', 'in', (eb) =>
      eb
        .selectFrom('blobs')
        .select('id')
        .where('writtenAt', 'is', null)
        .where('createdAt', '<', sql<number>`now_ms() - ${olderThanMs}`)
        .limit(limit)
        .forUpdate()
        .skipLocked(),
    )
    .executeTakeFirst()
  return Number(numDeletedRows)
}
