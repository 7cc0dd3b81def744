import type { Message, ThreadReadState, WireEvent } from '@parley/contract'
import { effect } from '@preact/signals'
import type { Workspace } from '../app/workspace.ts'
import { announce } from '../notifications/announce.ts'
import { ignoreFailure } from '../ui/problems.ts'

/** After a reconnection all clients fetch the threads again, at different times within this limit. */
const spreadMs = 2_000
/** The pause in which several events lead to one request. */
const pauseMs = 300
/** The pause before the next try after a failure. */
const retryMs = 10_000
/** The number of threads whose newest reply is kept until it is known whether the person follows them. */
const maxReplies = 50

/**
 * Keeps the number of unread threads up to date, and announces replies in followed threads. The first 25 unread threads are known by their ids, so
 * an event rarely leads to a request. Returns a function that ends it.
 */
export function watchThreads(workspace: Workspace): () => void {
  const { client, myId, mentionsMe, unreadThreads } = workspace
  const closing = new AbortController()
  /** The channels of the known unread threads, by the id of the parent. */
  let known = new Map<string, string>()
  /** The number of unread threads that are not in `known`. */
  let others = 0
  /** What events have said since the last request was sent. Its response may be older. */
  let since: ThreadReadState[] = []
  /** The newest reply of other threads. Whether the person follows such a thread is known only after the next event. */
  const replies = new Map<string, Message>()
  let timer: ReturnType<typeof setTimeout> | undefined
  let isFetching = false
  let wasLive = false

  function fetchLater(delayMs = pauseMs) {
    clearTimeout(timer)
    timer = setTimeout(() => {
      fetchUnread().catch((error) => {
        if (closing.signal.aborted) return
        ignoreFailure(error)
        fetchLater(retryMs)
      })
    }, delayMs)
  }

  async function fetchUnread() {
    const events: ThreadReadState[] = []
    since = events
    const input = { query: { unread: 'true' }, signal: closing.signal } as const
    isFetching = true
    const response = await client.request('GET /threads', input).finally(() => {
      if (since === events) isFetching = false
    })
    // Otherwise a later request has been sent.
    if (since !== events) return
    const { threads, unreadThreads: count } = response
    known = new Map(threads.map(({ message }) => [message.id, message.channelId]))
    others = Math.max(0, count - known.size)
    for (const state of events) change(state)
    show()
  }

  function change({ messageId, channelId, isFollowing, unreadCount }: ThreadReadState) {
    const isKnown = known.delete(messageId)
    if (isFollowing && unreadCount > 0) known.set(messageId, channelId)
    // It may be one of those that are not known.
    if (others > 0 && !isKnown) fetchLater()
  }

  /** The server counts again what may have been counted here, or in a response that is on its way. */
  function countAgain(isConcerned: (id: string, channelId: string) => boolean) {
    const isKnown = [...known].some(([id, channelId]) => isConcerned(id, channelId))
    if (isKnown || others > 0 || isFetching) fetchLater()
  }

  const show = () => {
    unreadThreads.value = known.size + others
  }

  function apply({ type, payload }: WireEvent) {
    switch (type) {
      case 'THREAD_READ_UPDATE':
        since.push(payload)
        change(payload)
        announceFirst(payload)
        show()
        return
      case 'NEW_THREAD_REPLY':
        if (mayAnnounce(payload.reply)) keepReply(payload.reply)
        return
      case 'DELETE_THREAD_REPLY':
        return countAgain((id) => id === payload.threadId)
      case 'DELETE_MESSAGE':
        return countAgain((id) => id === payload.id)
      case 'DELETE_CHANNEL':
        // The threads of a public channel can be read also by somebody who has left it.
        return countAgain((_id, channelId) => channelId === payload.id)
      case 'NEW_CHANNEL':
        // Many people may get access to a channel at once. The threads that they followed before are counted again.
        if (payload.lastSeq > 0) fetchLater(Math.random() * spreadMs)
    }
  }

  /** Replies that mention the person are announced with the other mentions (`notifications/announce.ts`). */
  const mayAnnounce = ({ author, mentions, channelId }: Message) =>
    author.id !== myId && !mentionsMe(mentions) && !workspace.known(channelId)?.isMuted

  /** Announces a reply in a thread that is unread already. The first unread reply is announced by the event that follows. */
  function keepReply(reply: Message) {
    const parentId = reply.threadId!
    if (known.has(parentId)) return announce(workspace, reply)
    replies.delete(parentId)
    replies.set(parentId, reply)
    const [oldest] = replies.keys()
    if (replies.size > maxReplies && oldest) replies.delete(oldest)
  }

  function announceFirst({ messageId, lastSeq, unreadCount }: ThreadReadState) {
    const reply = replies.get(messageId)
    if (reply?.seq !== lastSeq) return
    replies.delete(messageId)
    if (unreadCount > 0) announce(workspace, reply)
  }

  const ends = [
    workspace.listen(apply),
    effect(() => {
      if (workspace.connection.value !== 'live') return
      fetchLater(wasLive ? Math.random() * spreadMs : 0)
      wasLive = true
    }),
  ]
  return () => {
    for (const end of ends) end()
    clearTimeout(timer)
    closing.abort()
    unreadThreads.value = 0
  }
}
