import type { Message } from '@parley/contract'
import type { Client } from '../client/client.ts'
import { requestForPlace } from '../client/request-for-place.ts'
import { undefinedOn } from '../requests/request-failed.ts'
import type { Anchor, FetchedPage } from './channel-messages.ts'

/** The position of a page: before or after a message, or around it. Without one it is the page of the newest messages. */
export interface PagePosition {
  before?: string
  after?: string
  around?: string
  aroundSeq?: number
}

export const positionOf = (anchor: Anchor): PagePosition =>
  anchor === 'newest' ? {} : 'id' in anchor ? { around: anchor.id } : { aroundSeq: anchor.seq }

interface PageRequest extends PagePosition {
  channelId: string
  /** Set for a page of the thread of this message. */
  parentId: string | undefined
  limit: number
}

/** Fetches one page of a channel, conversation or thread. Undefined when the parent of the thread was deleted. @throws RequestFailed */
export async function fetchPage(client: Client, request: PageRequest): Promise<FetchedPage | undefined> {
  const { channelId, parentId, ...query } = request
  if (parentId !== undefined) return fetchReplies(client, parentId, query)
  return requestForPlace(client, 'GET /channels/:channelId/messages', channelId, { query })
}

async function fetchReplies(client: Client, parentId: string, query: PagePosition): Promise<FetchedPage | undefined> {
  const input = { params: { messageId: parentId }, query }
  const page = await client.request('GET /messages/:messageId/thread', input).catch(undefinedOn(404))
  return page && { parentId, messages: page.replies, hasOlder: page.hasOlder, hasNewer: page.hasNewer }
}

/** Fetches the parent of a thread. Undefined when it was deleted. @throws RequestFailed */
export async function fetchParent(client: Client, messageId: string): Promise<Message | undefined> {
  const found = await client.request('GET /messages/:messageId', { params: { messageId } }).catch(undefinedOn(404))
  return found?.message
}
