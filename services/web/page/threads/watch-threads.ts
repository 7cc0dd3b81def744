import type { FollowedThread, Message, ThreadReadState, WireEvent } from '@parley/contract'
import { computed, effect } from '@preact/signals'
import { dropOldest } from '../app/drop-oldest.ts'
import type { Workspace } from '../app/workspace.ts'
import { mayNotify, notifiesByMention, notify } from '../notifications/notify.ts'
import { ignoreFailure } from '../ui/retries.ts'

/** After a reconnection all clients fetch the threads again, at different times within this limit. */
const spreadMs = 2_000
/** The pause in which several events lead to one request. */
const pauseMs = 300
/** The pause before the next try after a failure. */
const retryMs = 10_000
/** The number of threads whose newest reply is kept until it is known whether the person follows them. */
const maxReplies = 50
/** The number of threads of which it is known that they are not unread. */
const maxSettled = 500

/**
 * Keeps the number of unread threads up to date, and shows notifications of replies in followed threads. The first 25 unread threads are
 * known by their ids, so an event rarely leads to a request. Returns a function that ends it.
 */
export function watchThreads(workspace: Workspace): () => void {
  const { client, myId, unreadThreads } = workspace
  const closing = new AbortController()
  let reconnecting = new AbortController()
  /** The channels of the known unread threads, by the id of the parent. */
  let known = new Map<string, string>()
  /** The number of unread threads that are not in `known`. */
  let others = 0
  /** What events have said since the open request was sent, because its response may be older. Undefined without an open request. */
  let eventsSince: ThreadReadState[] | undefined
  /** The newest reply of other threads. Whether the person follows such a thread is known only after the next event or response. */
  const replies = new Map<string, Message>()
  /** The threads that are not among `others`, as a response has said. */
  const settled = new Map<string, true>()
  let timer: ReturnType<typeof setTimeout> | undefined
  let dueAt = Number.POSITIVE_INFINITY
  /** Whether something has happened that the response on its way may not have. */
  let isOutdated = false
  let wasLive = false

  /** Fetches after a pause. Further events do not make it longer. */
  function fetchLater(delayMs = pauseMs) {
    const at = performance.now() + delayMs
    if (at >= dueAt || closing.signal.aborted) return
    dueAt = at
    clearTimeout(timer)
    timer = setTimeout(() => {
      dueAt = Number.POSITIVE_INFINITY
      void fetchUnread()
    }, delayMs)
  }

  /** Waits for the response on its way instead of sending another request, so that many events do not delay it. */
  async function fetchUnread() {
    if (eventsSince) {
      isOutdated = true
      return
    }
    const events: ThreadReadState[] = []
    eventsSince = events
    isOutdated = false
    const asked = [...replies.values()]
    const signal = AbortSignal.any([closing.signal, reconnecting.signal])
    try {
      const input = { query: { unread: 'true' }, signal } as const
      const { threads, hasMore, unreadThreads: count } = await client.request('GET /threads', input)
      known = new Map(threads.map(({ message }) => [message.id, message.channelId]))
      others = Math.max(0, count - known.size)
      notifyOfKept(threads)
      if (!hasMore) settle(asked)
      else settle(asked.filter(({ createdAt }) => createdAt > threads.at(-1)!.lastReply.createdAt))
      for (const state of events) change(state)
      show()
    } catch (error) {
      if (signal.aborted) return
      ignoreFailure(error)
      fetchLater(retryMs)
    } finally {
      eventsSince = undefined
      if (isOutdated) fetchLater()
    }
  }

  function change({ messageId, channelId, isFollowing, unreadCount }: ThreadReadState) {
    settled.delete(messageId)
    const isKnown = known.delete(messageId)
    if (isFollowing && unreadCount > 0) known.set(messageId, channelId)
    // It may be one of those that are not known.
    if (others > 0 && !isKnown) fetchLater()
  }

  const show = () => {
    unreadThreads.value = known.size + others
  }

  function apply({ type, payload }: WireEvent) {
    switch (type) {
      case 'THREAD_READ_UPDATE':
        eventsSince?.push(payload)
        change(payload)
        notifyOfFirst(payload)
        show()
        return
      case 'NEW_THREAD_REPLY':
        if (isForMe(payload.reply)) keepReply(payload.reply)
        return
      case 'DELETE_CHANNEL':
        // The threads of a public channel can be read also by somebody who has left it. A response on its way may have counted them.
        if ([...known.values()].includes(payload.id) || others > 0 || eventsSince) fetchLater()
        return
      case 'NEW_CHANNEL':
        // Many people may get access to a channel at once. The threads that they followed before are counted again.
        if (payload.lastSeq > 0) fetchLater(Math.random() * spreadMs)
    }
  }

  /** Whether the person may be notified of a reply here. Of replies that mention them, `notifications/notify.ts` notifies them. */
  const isForMe = (reply: Message) =>
    reply.author.id !== myId &&
    !notifiesByMention(reply, workspace) &&
    !workspace.detailsOnServer(reply.channelId)?.isMuted

  /**
   * Notifies the person of a reply in a thread that is unread already. Of the first unread reply they are notified with the event that
   * follows. The reply may also be in an unread thread that is not known. Then this thread is one of the first now, and the server says so.
   */
  function keepReply(reply: Message) {
    const parentId = reply.threadId!
    if (known.has(parentId)) return notify(workspace, reply)
    replies.delete(parentId)
    replies.set(parentId, reply)
    dropOldest(replies, maxReplies)
    if (others > 0 && !settled.has(parentId) && mayNotify()) fetchLater(Math.random() * spreadMs)
  }

  function notifyOfFirst({ messageId, lastSeq, unreadCount }: ThreadReadState) {
    const reply = replies.get(messageId)
    if (reply?.seq !== lastSeq) return
    replies.delete(messageId)
    if (unreadCount > 0) notify(workspace, reply)
  }

  /** Notifies the person of the kept replies in threads that are known now. */
  function notifyOfKept(threads: readonly FollowedThread[]) {
    for (const { message, readSeq } of threads) {
      const reply = replies.get(message.id)
      replies.delete(message.id)
      if (reply && reply.seq > readSeq) notify(workspace, reply)
    }
  }

  /** Remembers which of these replies are not in unread threads that the person follows. */
  function settle(asked: readonly Message[]) {
    for (const { threadId } of asked) if (!known.has(threadId!)) settled.set(threadId!, true)
    while (dropOldest(settled, maxSettled));
  }

  const role = computed(() => workspace.me.value.role)
  const ends = [
    workspace.listen(apply),
    effect(() => {
      // With another role the person may read other threads, and there are no events about them.
      void role.value
      if (workspace.connection.value !== 'live') return
      // Events may be missing, and a request from before may never get a response.
      settled.clear()
      reconnecting.abort()
      reconnecting = new AbortController()
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
