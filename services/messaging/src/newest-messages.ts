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

/** @throws ApiError 400 when `before` is not an id. */
export function readWantedPage({ limit, before }: Static<typeof Query>): WantedPage {
  if (before !== undefined && !isRowId(before)) throw invalid('before must be the id of a message', 'invalid_cursor')
  return { limit: Math.min(limit, limits.pageSize), before }
}

/** The page of the messages with these ids. There is one id more than `limit` when there are further messages. */
export async function pageOf(db: Reader, ids: readonly string[], limit: number): Promise<Static<typeof Page>> {
  const messages = await findMessages(db, { ids: ids.slice(0, limit) })
  // A time-ordered id begins with the time.
  return { messages: messages.toSorted((a, b) => (a.id < b.id ? 1 : -1)), hasMore: ids.length > limit }
}
