import type { Message, WireEvent } from '@parley/contract'
import type { Client } from '../client/client.ts'
import { jittered, pause } from '../requests/backoff.ts'
import { RequestFailed } from '../requests/request-failed.ts'
import type { MessageBody } from '../requests/routes.ts'
import type { Changes } from '../store/changes.ts'
import type { OutboxEntry, Store } from '../store/store.ts'
import { randomId, type Tabs } from '../stream/tabs.ts'

export interface OutboxParts {
  client: Client
  store: Store
  tabs: Tabs
  changes: Changes
  userId: () => string | undefined
  /** It was sent; its event may have come already. */
  onSent: (message: Message) => void
  onStoreFailed: (error: unknown) => void
}

export type Outbox = ReturnType<typeof createOutbox>

const backoff = { firstMs: 500, mostMs: 15_000 }
/** The server remembers an `Idempotency-Key` for 24 hours. After that a repeated send could be stored twice. */
const keyLastsMs = 23 * 3_600_000

/**
 * Messages on their way. Each is stored before the first byte of it goes out, and stays until the server has it: through lost
 * connections, reloads and crashes. Of each conversation one is sent at a time, in the order in which they were typed. Only the
 * leader of the tabs sends. An entry of somebody else is neither shown nor sent.
 */
export function createOutbox({ client, store, tabs, changes, ...parts }: OutboxParts) {
  const entries = new Map<string, OutboxEntry>()
  const lists = new Map<string, readonly OutboxEntry[]>()
  /** A slower answer of the store must not bring them back. */
  const gone = new Set<string>()
  /** What the store does not have yet in its newest state. */
  const unstored = new Set<string>()
  /** How many entries this tab has written. */
  let writes = 0
  const draining = new Set<string>()
  const closing = new AbortController()
  let waking = new AbortController()
  let isSending = false
  let lastCreatedAt = 0

  const tellTabs = () => tabs.post('outbox', 'changed')
  const keyOf = ({ channelId }: OutboxEntry) => `outbox:${channelId}`

  function show(entry: OutboxEntry) {
    entries.set(entry.id, entry)
    lists.delete(entry.channelId)
    changes.touch(keyOf(entry))
    changes.touch('outbox')
  }

  function hide(id: string) {
    const entry = entries.get(id)
    gone.add(id)
    if (!entry) return
    entries.delete(id)
    lists.delete(entry.channelId)
    changes.touch(keyOf(entry))
    changes.touch('outbox')
  }

  async function keep(entry: OutboxEntry) {
    unstored.add(entry.id)
    show(entry)
    try {
      await store.putOutbox(entry)
    } finally {
      unstored.delete(entry.id)
      writes++
    }
    if (gone.has(entry.id)) await store.removeFromOutbox(entry.id)
    tellTabs()
  }

  async function remove(id: string) {
    hide(id)
    await store.removeFromOutbox(id)
    tellTabs()
  }

  /** What other tabs, or an earlier page, have left. */
  async function read() {
    let all: OutboxEntry[]
    let before: number
    do {
      before = writes
      all = await store.readOutbox()
      // The answer may be older than what this tab has written meanwhile.
    } while (before !== writes)
    const stored = all.filter(({ id, userId }) => userId === parts.userId() && !gone.has(id))
    const ids = new Set(stored.map(({ id }) => id))
    for (const entry of stored) if (!unstored.has(entry.id)) show(entry)
    for (const id of [...entries.keys()]) if (!ids.has(id) && !unstored.has(id)) hide(id)
    if (isSending) drainAll()
  }

  function list(channelId: string): readonly OutboxEntry[] {
    const known = lists.get(channelId)
    if (known) return known
    const made = [...entries.values()]
      .filter((entry) => entry.channelId === channelId)
      .sort((one, next) => one.createdAt - next.createdAt || (one.id < next.id ? -1 : 1))
    lists.set(channelId, made)
    return made
  }

  function drainAll() {
    for (const channelId of new Set([...entries.values()].map((entry) => entry.channelId))) {
      if (draining.has(channelId)) continue
      draining.add(channelId)
      drain(channelId).catch(parts.onStoreFailed)
    }
  }

  const next = (channelId: string) => list(channelId).find(({ id, state }) => state !== 'failed' && !unstored.has(id))

  /** One after the other, until none is left that may be sent. */
  async function drain(channelId: string) {
    let failures = 0
    try {
      for (let entry = next(channelId); entry && canSend(); entry = next(channelId)) {
        const outcome = await sendOnce(entry)
        if (outcome === 'signed out') return
        if (outcome === 'again') {
          await pause(jittered(failures++, backoff), AbortSignal.any([closing.signal, waking.signal]))
        } else failures = 0
      }
    } finally {
      // In the same turn as the last check: an entry that comes later starts `drain` again.
      draining.delete(channelId)
    }
  }

  const canSend = () => isSending && !closing.signal.aborted && !client.isSignedOut()

  async function sendOnce(entry: OutboxEntry): Promise<'done' | 'again' | 'signed out'> {
    const now = Date.now()
    if (now - (entry.triedAt ?? now) > keyLastsMs) {
      await fail(
        entry,
        'It is not known whether this message was sent. Look, and send it again if it was not',
        'too_old',
      )
      return 'done'
    }
    await keep({ ...entry, state: 'sending', triedAt: entry.triedAt ?? now })
    try {
      const message = await post(entry)
      parts.onSent(message)
      await remove(entry.id)
      return 'done'
    } catch (error) {
      if (closing.signal.aborted) return 'signed out'
      if (!(error instanceof RequestFailed)) throw error
      // Its event has come: it was stored, whatever became of the answer.
      if (gone.has(entry.id)) return 'done'
      if (error.status === 401) return 'signed out'
      if (!error.isRefusal || error.code === 'idempotency_key_running') return 'again'
      await fail(entries.get(entry.id)!, error.error, error.code)
      return 'done'
    }
  }

  const fail = (entry: OutboxEntry, error: string, code: string) =>
    keep({ ...entry, state: 'failed', failure: { error, code } })

  async function post({ id, channelId, parentId, body }: OutboxEntry): Promise<Message> {
    const input = { body: { ...body, nonce: id }, idempotencyKey: id, signal: closing.signal, repeats: 0 }
    if (parentId !== undefined) {
      const params = { messageId: parentId }
      return (await client.request('POST /messages/:messageId/thread', { params, ...input })).reply
    }
    const { message } = channelId.startsWith('dm:')
      ? await client.request('POST /conversations/:conversationId/messages', {
          params: { conversationId: channelId },
          ...input,
        })
      : await client.request('POST /channels/:channelId/messages', { params: { channelId }, ...input })
    return message
  }

  tabs.listen('outbox', () => void read().catch(parts.onStoreFailed))

  return {
    /** Shows what was left by an earlier page or another tab. */
    read,
    /** From now on this tab sends. */
    startSending() {
      isSending = true
      drainAll()
    },

    /** Queues a message. Resolves once it is stored; from then on it will be sent. @throws when it cannot be stored. */
    async send(message: { channelId: string; parentId?: string; body: MessageBody }): Promise<OutboxEntry> {
      const userId = parts.userId()
      if (userId === undefined) throw new Error('It is not known yet who is signed in')
      // Later than every waiting message, even if the clock was set back.
      lastCreatedAt = Math.max(
        Date.now(),
        lastCreatedAt + 1,
        ...[...entries.values()].map((each) => each.createdAt + 1),
      )
      const entry: OutboxEntry = { ...message, id: randomId(), userId, createdAt: lastCreatedAt, state: 'waiting' }
      try {
        await keep(entry)
      } catch (error) {
        hide(entry.id)
        throw error
      }
      if (isSending) drainAll()
      return entry
    },
    /** Sends a failed message again, under a new id, because the server has refused the old one. */
    async retry(id: string): Promise<void> {
      const entry = entries.get(id)
      if (entry?.state !== 'failed') return
      const { triedAt: _, failure: __, ...again } = entry
      const fresh: OutboxEntry = { ...again, id: randomId(), state: 'waiting' }
      // At once, so that a second call finds nothing to send.
      hide(id)
      try {
        await keep(fresh)
      } catch (error) {
        hide(fresh.id)
        gone.delete(id)
        show(entry)
        throw error
      }
      // It is stored, so it is sent, also when the old one cannot be removed.
      if (isSending) drainAll()
      await remove(id)
    },
    /** Forgets a message. One that is being sent may still arrive. */
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

    /** Those of a channel or conversation with its threads, in the order in which they will be sent. */
    entries: list,
    size: () => entries.size,
    /** Tries at once what is waiting for its next try. */
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
