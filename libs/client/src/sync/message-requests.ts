import type { Message } from '@parley/contract'
import type { Client } from '../client/client.ts'
import { requestForPlace } from '../client/request-for-place.ts'
import { type RequestFailed, undefinedOn } from '../requests/request-failed.ts'
import type { Anchor, FetchedPage } from './anchored-timeline.ts'
import type { ChannelMessages, Fetched } from './channel-messages.ts'

/** The position of a page: before or after a message, or around it. Without one it is the page of the newest messages. */
export interface PagePosition {
  before?: string
  after?: string
  around?: string
  aroundSeq?: number
}

/** The requests for the messages of a channel. What the server does not have any more, or refuses, the channel does not want any more. */
export function createMessageRequests(client: Client, limit: number) {
  /** The errors of anchors that the server has refused. */
  const refusals = new Map<Anchor, unknown>()

  /** Fetches one page. Undefined when the parent of the thread was deleted. @throws RequestFailed */
  async function fetchPage(
    channel: ChannelMessages,
    parentId: string | undefined,
    position: PagePosition,
  ): Promise<FetchedPage | undefined> {
    const { channelId } = channel
    const query = { limit, ...position }
    if (parentId === undefined)
      return requestForPlace(client, 'GET /channels/:channelId/messages', channelId, { query })
    const page = await fetchReplies(parentId, query)
    if (!page) channel.forgetThread(parentId)
    return page
  }

  async function fetchReplies(parentId: string, query: PagePosition): Promise<FetchedPage | undefined> {
    const input = { params: { messageId: parentId }, query }
    const page = await client.request('GET /messages/:messageId/thread', input).catch(undefinedOn(404))
    return page && { parentId, messages: page.replies, hasOlder: page.hasOlder, hasNewer: page.hasNewer }
  }

  async function fetchAnchor(
    channel: ChannelMessages,
    parentId: string | undefined,
    anchor: Anchor,
  ): Promise<FetchedPage | undefined> {
    const page = await fetchPage(channel, parentId, positionOf(anchor)).catch((error: RequestFailed) => {
      // For example, the message belongs to another channel. The server refuses the anchor, not the whole channel.
      if (anchor === 'newest' || error.status !== 400) throw error
      refusals.set(anchor, error)
      channel.forgetAnchor(anchor, parentId)
      return undefined
    })
    return page && { ...page, anchor }
  }

  /** Fetches the parent of a thread. Undefined when it was deleted. */
  async function fetchParent(messageId: string): Promise<Message | undefined> {
    const found = await client.request('GET /messages/:messageId', { params: { messageId } }).catch(undefinedOn(404))
    return found?.message
  }

  return {
    fetchPage,
    /** Fetches all that is missing in the channel. @throws RequestFailed */
    async fetchMissing(channel: ChannelMessages): Promise<Fetched> {
      const { channelId } = channel
      const { pins, anchors, parents } = channel.missing()
      const [pinned, pages, found] = await Promise.all([
        pins ? client.request('GET /channels/:channelId/pins', { params: { channelId } }) : undefined,
        Promise.all(anchors.map(({ parentId, anchor }) => fetchAnchor(channel, parentId, anchor))),
        Promise.all(parents.map(fetchParent)),
      ])
      return {
        ...(pinned && { pins: pinned.messages }),
        pages: pages.flatMap((page) => page ?? []),
        parents: found.flatMap((message) => message ?? []),
      }
    },
    /** The error with which the server has refused the anchor. Undefined if it has not. Call it once. */
    takeRefusal(anchor: Anchor): unknown {
      const refusal = refusals.get(anchor)
      refusals.delete(anchor)
      return refusal
    },
  }
}

const positionOf = (anchor: Anchor): PagePosition =>
  anchor === 'newest' ? {} : 'id' in anchor ? { around: anchor.id } : { aroundSeq: anchor.seq }
