import { readText } from './search.routes.ts'
import type { SearchRequest } from './search.ts'

/** A search of everything that a member may read, limited by `more`. */
export const searchRequest = (
  userId: string,
  q: string,
  more: Partial<SearchRequest['wanted']> = {},
): SearchRequest => ({
  caller: { userId, sessionId: '', userName: 'somebody', email: '', role: 'member', isAdmin: false },
  wanted: {
    ...readText(q),
    channelId: undefined,
    authorId: undefined,
    from: 0,
    to: 2 ** 53,
    before: undefined,
    limit: 50,
    ...more,
  },
  channel: undefined,
})
