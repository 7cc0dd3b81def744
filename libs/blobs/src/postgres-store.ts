import { type Database, isDuplicate, uuidv7 } from '@parley/database'
import { createLimiter } from '@parley/limiter'
import { sql } from 'kysely'
import { BlobMissing, type BlobStore, type ByteRange, clampRange, splitIntoPieces, streamOf } from './store.ts'

/**
 * Each reader and writer holds one chunk in memory. Stored blobs have chunks of this size, so a change of it needs a
 * new column.
 */
const chunkBytes = 256 * 1024
/** Concurrent statements that read chunks, for all readers together. The other connections stay free for other work. */
const readsAtOnce = 2
/** Blobs that one statement deletes. Each has at most 25 MB. */
const batchSize = 20

/** Keeps bytes in PostgreSQL, in the tables `blobs` and `blob_chunks`. Each chunk is a statement of its own. */
export function createPostgresStore(db: Database): BlobStore {
  const limited = createLimiter(readsAtOnce)

  async function* readChunks(key: string, blobId: string, { start, end }: ByteRange) {
    for (let n = Math.floor(start / chunkBytes); n * chunkBytes <= end; n++) {
      const chunk = await limited(() => findChunk(db, blobId, n))
      if (!chunk) throw new BlobMissing(key)
      yield chunk.bytes.subarray(Math.max(0, start - n * chunkBytes), end + 1 - n * chunkBytes)
    }
  }

  return {
    async put(key, bytes, { size, contentType }) {
      const id = uuidv7()
      await insertBlob(db, { id, key, size, contentType })
      try {
        let n = 0
        for await (const piece of splitIntoPieces(bytes, size, chunkBytes)) {
          await insertChunk(db, { blobId: id, n, bytes: piece })
          n += 1
        }
        if (!(await completeBlob(db, id))) throw new Error('the blob was deleted while it was being written')
      } catch (error) {
        // `sweep` deletes the blob when this fails. The first error is the one to report.
        await deleteBlob(db, id).catch(() => {})
        if (!isDuplicate(error, 'blobs_written')) throw error
      }
    },

    async get(key, range) {
      const blob = await findBlob(db, key)
      if (!blob) throw new BlobMissing(key)
      if (!range) return streamOf(readChunks(key, blob.id, { start: 0, end: blob.size - 1 }))
      return streamOf(readChunks(key, blob.id, clampRange(range, blob.size)))
    },

    async delete(keys) {
      for (let from = 0; from < keys.length; from += batchSize)
        await deleteBlobs(db, keys.slice(from, from + batchSize))
    },

    async check() {
      await sql`select 1`.execute(db)
    },

    async sweep(olderThanMs) {
      let total = 0
      for (;;) {
        const deleted = await deleteUnfinished(db, olderThanMs, batchSize)
        total += deleted
        if (deleted < batchSize) return total
      }
    },

    // The connections belong to the process.
    async close() {},
  }
}

const insertBlob = (db: Database, blob: { id: string; key: string; size: number; contentType: string }) =>
  db
    .insertInto('blobs')
    .values({ ...blob, createdAt: sql`now_ms()` })
    .execute()

/** Does not wait for the disk. The statement that completes the blob waits, and PostgreSQL flushes its log in order. */
const insertChunk = (db: Database, { blobId, n, bytes }: { blobId: string; n: number; bytes: Buffer }) =>
  sql`
    with asynchronous as (select set_config('synchronous_commit', 'off', true))
    insert into blob_chunks (blob_id, n, bytes) select ${blobId}::uuid, ${n}::integer, ${bytes}::bytea from asynchronous
  `.execute(db)

/**
 * Makes the blob visible to readers. Returns false when it was deleted meanwhile. The index blobs_written refuses a key
 * that is in use.
 */
async function completeBlob(db: Database, id: string): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('blobs')
    .set({ writtenAt: sql`now_ms()` })
    .where('id', '=', id)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Served by blobs_written. */
const findBlob = (db: Database, key: string) =>
  db
    .selectFrom('blobs')
    .select(['id', 'size'])
    .where('key', '=', key)
    .where('writtenAt', 'is not', null)
    .executeTakeFirst()

const findChunk = (db: Database, blobId: string, n: number) =>
  db.selectFrom('blobChunks').select('bytes').where('blobId', '=', blobId).where('n', '=', n).executeTakeFirst()

const deleteBlob = (db: Database, id: string) => db.deleteFrom('blobs').where('id', '=', id).execute()

/** Also deletes unfinished blobs, whose writers then fail. Served by blobs_key. */
const deleteBlobs = (db: Database, keys: readonly string[]) => db.deleteFrom('blobs').where('key', 'in', keys).execute()

/** Deletes at most `limit` unfinished blobs that are older than this. Returns their number. Served by blobs_unfinished. */
async function deleteUnfinished(db: Database, olderThanMs: number, limit: number): Promise<number> {
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
