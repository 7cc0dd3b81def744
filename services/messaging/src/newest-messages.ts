import { invalid, limits, Message, PageLimit, refusals } from '@parley/contract'
import { isRowId, type Reader } from '@parley/database'
import { findMessages } from '@parley/messages'
import { type Static, Type } from 'typebox'

const Query = Type.Object({
  limit: PageLimit(),
  before: Type.Optional(Type.String({ description: 'Id of the last message of the page before' })),
})
const Page = Type.Object({
  messages: Type.Array(Message),
  hasMore: Type.Boolean({ description: 'Whether there are further messages' }),
})

/** The schema of a list of messages from all channels, newest message first, in pages. */
export const newestMessages = { querystring: Query, response: { 200: Page, ...refusals(400, 401) } }

/** Which page of such a list is wanted. */
export interface WantedPage {
  /** At most this number. */
  limit: number
  /** The id of the last message of the page before. */
  before?: string | undefined
}

/**
 * Reads which page is wanted. A page also begins after a message that was deleted, or that the caller cannot read any more, since they got
 * the page before.
 * @throws ApiError 400 when `before` is not the id of a message.
 */
export async function readWantedPage(db: Reader, { limit, before }: Static<typeof Query>): Promise<WantedPage> {
  if (before !== undefined && !(await isMessage(db, before)))
    throw invalid('before must be the id of a message', 'invalid_cursor')
  return { limit: Math.min(limit, limits.pageSize), before }
}

async function isMessage(db: Reader, id: string): Promise<boolean> {
  if (!isRowId(id)) return false
  const row = await db.selectFrom('messages').select('id').where('id', '=', id).executeTakeFirst()
  return row !== undefined
}

/** The page of the messages with these ids. There is one id more than `limit` when there are further messages. */
export async function pageOf(db: Reader, ids: readonly string[], limit: number): Promise<Static<typeof Page>> {
  const messages = await findMessages(db, { ids: ids.slice(0, limit) })
  // A time-ordered id begins with the time.
  return { messages: messages.toSorted((a, b) => (a.id < b.id ? 1 : -1)), hasMore: ids.length > limit }
}
