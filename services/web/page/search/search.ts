import { type Client, isConversationId, RequestFailed, requestForPlace } from '@parley/client'
import type { Message } from '@parley/contract'
import { findPerson, type NamedPerson } from '../app/find-person.ts'
import { foldName } from '../app/names.ts'
import type { Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'
import { findPlace, type NamedPlace } from './find-place.ts'
import { parseQuery, periodOf, type SearchQuery, textOfWords } from './search-query.ts'

export const pageSize = 30
/** The number of messages among whose authors a name is looked for. */
const authorMessages = 100

interface PageOptions {
  before?: string | undefined
  signal?: AbortSignal
}

/** Fetches one page of results, newest first, or with `before` the page after that message. @throws RequestFailed with a sentence. */
export async function search(workspace: Workspace, text: string, page: PageOptions): Promise<Message[]> {
  const { words, filters } = parseQuery(text)
  const author = await findAuthor(workspace, filters)
  const place = filters.in === undefined ? undefined : await findPlace(workspace, filters.in)
  const period = periodOf(filters)
  // The server needs a text. It also searches the names of authors, so the name of a person finds all their messages.
  const q = textOfWords(words) || author?.userName
  if (q === undefined) {
    if (!place) throw new RequestFailed(400, t('A search needs words, or the filter from: or in:'))
    return listMessages(workspace, place, period, page)
  }
  const { before, signal } = page
  const query = {
    q,
    ...period,
    ...(author && { authorId: author.id }),
    ...(place && (isConversationId(place.id) ? { conversationId: place.id } : { channelId: place.id })),
    ...(before !== undefined && { before }),
    limit: pageSize,
  }
  const { messages } = await workspace.client.request('GET /search/messages', { query, ...(signal && { signal }) })
  return messages
}

async function findAuthor({ client, me, myId }: Workspace, { from }: SearchQuery['filters']) {
  if (from === undefined) return undefined
  if (/^me$/i.test(from)) return { id: myId, userName: me.peek().userName }
  return findPerson(client, from, () => findAuthors(client, from))
}

/**
 * The authors with this name of recent messages. Only admins can search for people who are deactivated, and nobody for removed ones, but
 * the server searches the names of all authors. The others are among them too.
 */
async function findAuthors(client: Client, name: string): Promise<NamedPerson[]> {
  const { messages } = await client.request('GET /search/messages', { query: { q: name, limit: authorMessages } })
  const byId = new Map(messages.map(({ author }) => [author.id, author]))
  const wanted = foldName(name)
  const named = [...byId.values()].filter(({ userName, isBot }) => {
    const folded = foldName(userName)
    if (isBot) return false
    return folded.startsWith(wanted) || folded.split(/[\s._-]+/).some((word) => word.startsWith(wanted))
  })
  return named.map(({ id, userName }) => ({ id, userName, email: '', displayName: null }))
}

/** One page of the messages of a channel or conversation, without replies, newest first. */
async function listMessages(
  { client }: Workspace,
  { id, lastSeq }: NamedPlace,
  { from = 0, to }: ReturnType<typeof periodOf>,
  { before, signal }: PageOptions,
): Promise<Message[]> {
  const fetchPage = async (query: { limit: number; before?: string; aroundSeq?: number }) =>
    (await requestForPlace(client, 'GET /channels/:channelId/messages', id, { query, ...(signal && { signal }) }))
      .messages
  const end = before ?? (to === undefined ? undefined : await findFirstAfter(to))
  const messages = await fetchPage({ limit: pageSize, ...(end !== undefined && { before: end }) })
  return messages.filter(({ createdAt }) => createdAt >= from).reverse()

  /** The id of the first message after a moment. Undefined if there is none. `seq` has the order of time. */
  async function findFirstAfter(moment: number): Promise<string | undefined> {
    let found: string | undefined
    let [low, high] = [0, lastSeq + 1]
    while (low < high) {
      const middle = Math.floor((low + high) / 2)
      // The first message from this `seq` on. If there is none, the last message before it.
      const [message] = await fetchPage({ aroundSeq: middle, limit: 1 })
      if (!message) return undefined
      if (message.createdAt > moment) {
        found = message.id
        high = middle
      } else low = Math.max(middle, message.seq) + 1
    }
    return found
  }
}
