import type { Message, WireEvent } from '@parley/contract'
import type { Client } from '../client/client.ts'
import { requestForPlace } from '../client/request-for-place.ts'
import { jittered, pause, usualBackoff } from '../requests/backoff.ts'
import { RequestFailed } from '../requests/request-failed.ts'
import type { MessageBody } from '../requests/routes.ts'
import type { Changes } from '../store/changes.ts'
import type { OutboxEntry, Store } from '../store/store.ts'
import { randomId, type Tabs } from '../stream/tabs.ts'

interface OutboxParts {
  client: Client
  store: Store
  tabs: Tabs
  changes: Changes
  userId: () => string | undefined
  /** Called when a message was sent and its event has not come yet. */
  onSent: (message: Message) => void
  onStoreFailed: (error: unknown) => void
}

export type Outbox = ReturnType<typeof createOutbox>

/** The server remembers an `Idempotency-Key` for 24 hours. After that a repeated send could be stored twice. */
const keyLastsMs = 23 * 3_600_000

/** The length of the longest `randomId`. The server accepts at most 64 characters as a `nonce`. */
const idLength = 36

/**
 * The messages that are not sent yet. Each message is stored before it is sent, and stays stored until the server has it. So it survives
 * lost connections, reloads and crashes. The messages of one channel or conversation are sent one at a time, in the order in which
 * they were typed. Only the leader of the tabs sends. Entries of another person are neither shown nor sent.
 */
export function createOutbox({ client, store, tabs, changes, ...parts }: OutboxParts) {
  const entries = new Map<string, OutboxEntry>()
  const lists = new Map<string, readonly OutboxEntry[]>()
  /** The ids of removed entries. A read of the store that began earlier must not add them again. */
  const removed = new Set<string>()
  /** The ids of entries whose newest state is not stored yet. */
  const unstored = new Set<string>()
  /** The number of entries that this tab has written. */
  let writes = 0
  const draining = new Set<string>()
  const closing = new AbortController()
  let waking = new AbortController()
  let isSending = false
  let lastCreatedAt = 0

  const notifyTabs = () => tabs.post('outbox', 'changed')

  function touch({ channelId }: OutboxEntry) {
    lists.delete(channelId)
    changes.touch(`outbox:${channelId}`)
    changes.touch('outbox')
  }

  function putEntry(entry: OutboxEntry) {
    entries.set(entry.id, entry)
    touch(entry)
  }

  function dropEntry(id: string) {
    const entry = entries.get(id)
    removed.add(id)
    if (!entry) return
    entries.delete(id)
    touch(entry)
  }

  async function save(entry: OutboxEntry) {
    unstored.add(entry.id)
    putEntry(entry)
    try {
      await store.putOutbox(entry)
    } finally {
      unstored.delete(entry.id)
      writes++
    }
    if (removed.has(entry.id)) await store.removeFromOutbox(entry.id)
    notifyTabs()
  }

  async function remove(id: string) {
    dropEntry(id)
    await store.removeFromOutbox(id)
    notifyTabs()
  }

  /** Reads the stored entries, which may be from other tabs or from before a reload. */
  async function read() {
    let all: OutboxEntry[]
    let before: number
    do {
      before = writes
      all = await store.readOutbox()
      // When this tab has written meanwhile, the result may be outdated.
    } while (before !== writes)
    const stored = all.filter(({ id, userId }) => userId === parts.userId() && !removed.has(id))
    const ids = new Set(stored.map(({ id }) => id))
    for (const entry of stored) if (!unstored.has(entry.id)) putEntry(entry)
    for (const id of [...entries.keys()]) if (!ids.has(id) && !unstored.has(id)) dropEntry(id)
    if (isSending) drainAll()
  }

  function list(channelId: string): readonly OutboxEntry[] {
    const known = lists.get(channelId)
    if (known) return known
    const sorted = [...entries.values()]
      .filter((entry) => entry.channelId === channelId)
      .sort((one, next) => one.createdAt - next.createdAt || (one.id < next.id ? -1 : 1))
    lists.set(channelId, sorted)
    return sorted
  }

  const channelIds = () => new Set([...entries.values()].map((entry) => entry.channelId))

  function drainAll() {
    for (const channelId of channelIds()) {
      if (draining.has(channelId)) continue
      draining.add(channelId)
      drain(channelId).catch(parts.onStoreFailed)
    }
  }

  const next = (channelId: string) => list(channelId).find(({ id, state }) => state !== 'failed' && !unstored.has(id))

  /** Sends the messages of one channel or conversation, one after the other, until no more can be sent. */
  async function drain(channelId: string) {
    let failures = 0
    try {
      for (let entry = next(channelId); entry && canSend(); entry = next(channelId)) {
        const outcome = await sendOnce(entry)
        if (outcome === 'signed out') return
        if (outcome === 'retry') {
          await pause(jittered(failures++, usualBackoff), AbortSignal.any([closing.signal, waking.signal]))
        } else failures = 0
      }
    } finally {
      // In the same turn of the event loop as the last check, so that an entry that comes later starts `drain` again.
      draining.delete(channelId)
    }
  }

  const canSend = () => isSending && !closing.signal.aborted && !client.isSignedOut()

  async function sendOnce(entry: OutboxEntry): Promise<'done' | 'retry' | 'signed out'> {
    const now = Date.now()
    if (now - (entry.triedAt ?? now) > keyLastsMs) {
      await fail(entry, 'It is not known whether this message was sent. Send it again if it was not', 'too_old')
      return 'done'
    }
    await save({ ...entry, state: 'sending', triedAt: entry.triedAt ?? now })
    try {
      const message = await post(entry)
      // After the event of the message, the response may be outdated: the message may be deleted already.
      if (!removed.has(entry.id)) parts.onSent(message)
      await remove(entry.id)
      return 'done'
    } catch (error) {
      if (closing.signal.aborted) return 'signed out'
      if (!(error instanceof RequestFailed)) throw error
      // The event of the message has come, so the message is stored, and the error does not matter.
      if (removed.has(entry.id)) return 'done'
      if (error.status === 401) return 'signed out'
      if (!error.isRefusal || error.code === 'idempotency_key_running') return 'retry'
      await fail(entries.get(entry.id)!, error.error, error.code)
      return 'done'
    }
  }

  const fail = (entry: OutboxEntry, error: string, code: string) =>
    save({ ...entry, state: 'failed', failure: { error, code } })

  async function post({ id, channelId, parentId, body }: OutboxEntry): Promise<Message> {
    const input = { body: { ...body, nonce: id }, idempotencyKey: id, signal: closing.signal, repeats: 0 }
    if (parentId !== undefined) {
      const params = { messageId: parentId }
      return (await client.request('POST /messages/:messageId/thread', { params, ...input })).reply
    }
    return (await requestForPlace(client, 'POST /channels/:channelId/messages', channelId, input)).message
  }

  tabs.listen('outbox', () => void read().catch(parts.onStoreFailed))

  return {
    /** Reads the entries of other tabs, and those from before a reload. */
    read,
    /** Makes this tab the one that sends. */
    startSending() {
      isSending = true
      drainAll()
    },

    /** Queues a message. Resolves once it is stored, and then it will be sent. @throws when it cannot be stored. */
    async send(message: { channelId: string; parentId?: string; body: MessageBody }): Promise<OutboxEntry> {
      const userId = parts.userId()
      if (userId === undefined) throw new Error('It is not known yet who is signed in')
      // Later than all waiting messages, even if the clock was set back.
      lastCreatedAt = Math.max(
        Date.now(),
        lastCreatedAt + 1,
        ...[...entries.values()].map((each) => each.createdAt + 1),
      )
      const entry: OutboxEntry = { ...message, id: randomId(), userId, createdAt: lastCreatedAt, state: 'waiting' }
      try {
        await save(entry)
      } catch (error) {
        dropEntry(entry.id)
        throw error
      }
      if (isSending) drainAll()
      return entry
    },
    /**
     * Sends a failed message again. It gets a new id, because the server has refused the request with the old one. Two tabs that send it again
     * at the same moment use the same id, so it is sent once.
     */
    async retry(id: string): Promise<void> {
      const entry = entries.get(id)
      if (entry?.state !== 'failed') return
      const { triedAt, failure: _, ...again } = entry
      const fresh: OutboxEntry = { ...again, id: id.slice(0, idLength) + triedAt, state: 'waiting' }
      // Before the first `await`, so that a second call finds nothing to send.
      dropEntry(id)
      try {
        await save(fresh)
      } catch (error) {
        dropEntry(fresh.id)
        removed.delete(id)
        putEntry(entry)
        throw error
      }
      // The new entry is stored, so it is sent even if the old one cannot be removed.
      if (isSending) drainAll()
      await remove(id)
    },
    /** Removes a message. A message that is being sent may still reach the server. */
    discard: remove,

    /** Removes an entry when the event of its message comes. */
    apply(event: WireEvent) {
      const message =
        event.type === 'NEW_MESSAGE' || event.type === 'NEW_DM_MESSAGE'
          ? event.payload
          : event.type === 'NEW_THREAD_REPLY'
            ? event.payload.reply
            : undefined
      if (!message?.nonce || message.author.id !== parts.userId() || !entries.has(message.nonce)) return
      remove(message.nonce).catch(parts.onStoreFailed)
    },

    /** The entries of a channel or conversation and of its threads, in the order in which they will be sent. */
    entries: list,
    channelIds,
    size: () => entries.size,
    /** Retries immediately instead of after the pause. */
    wake() {
      waking.abort()
      waking = new AbortController()
    },
    close() {
      isSending = false
      closing.abort()
    },
  }
}
