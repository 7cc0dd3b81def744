import { anyOf, type Transaction } from '@parley/database'
import { sql } from 'kysely'

/** The key of an upload's thumbnail in the blob store; that of the upload itself is its `filename`. */
export const thumbnailKey = (filename: string) => `${filename}.thumbnail`

/**
 * Takes the uploads off these messages, of which all are deleted or edited in this transaction; with `only`, just those.
 * What no message has any more is idle from `now` on. The uploads are locked first, in the order of their names: of two
 * that take one off its last two messages, the second then sees that it is the last.
 */
export async function releaseUploads(
  trx: Transaction,
  messageIds: readonly string[],
  now: number,
  only?: readonly string[],
): Promise<void> {
  const held = await trx
    .selectFrom('uploads')
    .select('filename')
    .where('filename', 'in', (eb) =>
      eb
        .selectFrom('messageUploads')
        .select('filename')
        .where('messageId', '=', anyOf(messageIds))
        .$if(only !== undefined, (query) => query.where('filename', '=', sql<string>`any(${only}::text[])`)),
    )
    .orderBy('filename')
    .forUpdate()
    .execute()
  if (held.length === 0) return
  const filenames = held.map(({ filename }) => filename)

  await sql`
    delete from message_uploads
    where message_id = any(${messageIds}::uuid[]) and filename = any(${filenames}::text[])`.execute(trx)
  await sql`
    update uploads set idle_since = greatest(${now}::bigint, created_at + 1)
    where filename = any(${filenames}::text[])
      and not exists (select from message_uploads m where m.filename = uploads.filename)`.execute(trx)
}
