import { thumbnailKey } from '@parley/blobs'
import { type Database, recordJob, type Transaction } from '@parley/database'
import { sql } from 'kysely'

const atOnce = 500

/**
 * Deletes uploads that no message has had since a moment; answers how many. Their rows go, and in the same transaction a job
 * is recorded that deletes their bytes: whoever crashes in between, no message ever has an upload without bytes, and no
 * bytes are left that nobody deletes.
 */
export async function deleteIdleUploads(db: Database, before: number): Promise<number> {
  for (let total = 0; ; ) {
    const filenames = await db.transaction().execute((trx) => deletePortion(trx, before))
    total += filenames.length
    if (filenames.length < atOnce) return total
  }
}

async function deletePortion(trx: Transaction, before: number): Promise<string[]> {
  const filenames = await deleteRows(trx, before)
  if (filenames.length > 0) {
    await recordJob(trx, 'delete-blobs', { keys: filenames.flatMap((name) => [name, thumbnailKey(name)]) })
  }
  return filenames
}

/** Whoever puts one on a message just now has it locked, and keeps it. Served by uploads_idle. */
async function deleteRows(trx: Transaction, before: number): Promise<string[]> {
  const { rows } = await sql<{ filename: string }>`
    delete from uploads where filename in (
      select filename from uploads where idle_since < ${before} order by idle_since limit ${atOnce} for update skip locked)
    returning filename`.execute(trx)
  return rows.map(({ filename }) => filename)
}
