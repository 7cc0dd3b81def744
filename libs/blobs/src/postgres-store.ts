import { type Database, isDuplicate, uuidv7 } from '@parley/database'
import { sql } from 'kysely'
import {
  completeBlob,
  deleteBlob,
  deleteBlobs,
  deleteUnfinished,
  findBlob,
  findChunk,
  insertBlob,
  insertChunk,
} from './postgres.queries.ts'
import { BlobMissing, type BlobStore, type ByteRange, cut, streamOf, within } from './store.ts'

/** Each reader and writer holds one chunk in memory. Stored blobs have chunks of this size: a change needs a new column. */
const chunkBytes = 256 * 1024
/** Concurrent statements that read chunks, for all readers together: the other connections are for other work. */
const readsAtOnce = 2
/** Blobs that one statement deletes, each of at most 25 MB. */
const atOnce = 20

/** Keeps bytes in PostgreSQL, in the tables `blobs` and `blob_chunks`. Each chunk is a statement of its own. */
export function createPostgresStore(db: Database): BlobStore {
  const limited = createLimit(readsAtOnce)

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
        for await (const piece of cut(bytes, size, chunkBytes)) {
          await insertChunk(db, { blobId: id, n, bytes: piece })
          n += 1
        }
        if (!(await completeBlob(db, id))) throw new Error('the blob was deleted while it was being written')
      } catch (error) {
        // The sweep deletes what remains here. The first failure is the one to report.
        await deleteBlob(db, id).catch(() => {})
        if (!isDuplicate(error, 'blobs_written')) throw error
      }
    },

    async get(key, range) {
      const blob = await findBlob(db, key)
      if (!blob) throw new BlobMissing(key)
      if (!range) return streamOf(readChunks(key, blob.id, { start: 0, end: blob.size - 1 }))
      return streamOf(readChunks(key, blob.id, within(range, blob.size)))
    },

    async delete(keys) {
      for (let from = 0; from < keys.length; from += atOnce) await deleteBlobs(db, keys.slice(from, from + atOnce))
    },

    async check() {
      await sql`select 1`.execute(db)
    },

    async sweep(olderThanMs) {
      let total = 0
      for (;;) {
        const deleted = await deleteUnfinished(db, olderThanMs, atOnce)
        total += deleted
        if (deleted < atOnce) return total
      }
    },

    // The connections belong to the process.
    async close() {},
  }
}

/** Limits how many pieces of work run at the same time; the others wait. */
function createLimit(most: number) {
  const waiting: (() => void)[] = []
  let running = 0
  return async <T>(work: () => Promise<T>): Promise<T> => {
    if (running >= most) await new Promise<void>((resolve) => waiting.push(resolve))
    else running++
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else running--
    }
  }
}
