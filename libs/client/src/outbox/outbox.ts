import type { Message, WireEvent } from '@parley/contract'
import type { Client } from '../client/client.ts'
import { requestForPlace } from '../client/request-for-place.ts'
import { jittered, pause, usualBackoff } from '../requests/backoff.ts'
import { randomId } from '../requests/random-id.ts'
import { RequestFailed } from '../requests/request-failed.ts'
import type { MessageBody } from '../requests/routes.ts'
import type { OutboxEntry } from '../store/store.ts'
import type { OutboxEntries } from './outbox-entries.ts'

interface OutboxParts {
  client: Client
  outboxEntries: OutboxEntries
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
export function createOutbox({ client, outboxEntries: entries, ...parts }: OutboxParts) {
  /** The channels and conversations whose messages are being sent. */
  const draining = new Set<string>()
  const closing = new AbortController()
  let waking = new AbortController()
  let isSending = false

  function drainAll() {
    for (const channelId of entries.channelIds()) {
      if (draining.has(channelId)) continue
      draining.add(channelId)
      drain(channelId).catch(parts.onStoreFailed)
    }
  }

  /** Sends the messages of one channel or conversation, one after the other, until no more can be sent. */
  async function drain(channelId: string) {
    let failures = 0
    try {
      while (canSend()) {
        const entry = entries.next(channelId)
        if (!entry) return
        const outcome = await sendOnce(entry)
        if (outcome === 'stop') return
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

  /** Tries to send a message. `done` also when the server has refused it, and `stop` when nothing can be sent any more. */
  async function sendOnce(entry: OutboxEntry): Promise<'done' | 'retry' | 'stop'> {
    const now = Date.now()
    if (now - (entry.triedAt ?? now) > keyLastsMs) {
      await fail(entry, 'It is not known whether this message was sent. Send it again if it was not', 'too_old')
      return 'done'
    }
    await entries.save({ ...entry, state: 'sending', triedAt: entry.triedAt ?? now })
    try {
      const message = await post(entry)
      // After the event of the message, the response may be outdated: the message may be deleted already.
      if (entries.get(entry.id)) parts.onSent(message)
      await entries.remove(entry.id)
      return 'done'
    } catch (error) {
      if (closing.signal.aborted) return 'stop'
      if (!(error instanceof RequestFailed)) throw error
      // The event of the message has come, so the message is stored, and the error does not matter.
      const current = entries.get(entry.id)
      if (!current) return 'done'
      // The session has ended. The message waits for the next sign-in of the person.
      if (error.status === 401) return 'stop'
      if (!error.isRefusal || error.code === 'idempotency_key_running') return 'retry'
      await fail(current, error.error, error.code)
      return 'done'
    }
  }

  const fail = (entry: OutboxEntry, error: string, code: string) =>
    entries.save({ ...entry, state: 'failed', failure: { error, code } })

  async function post({ id, channelId, parentId, body }: OutboxEntry): Promise<Message> {
    const input = { body: { ...body, nonce: id }, idempotencyKey: id, signal: closing.signal, repeats: 0 }
    if (parentId !== undefined) {
      const params = { messageId: parentId }
      return (await client.request('POST /messages/:messageId/thread', { params, ...input })).reply
    }
    return (await requestForPlace(client, 'POST /channels/:channelId/messages', channelId, input)).message
  }

  return {
    /** Reads the entries of other tabs, and those from before a reload. */
    read: () => entries.read().then(drainAll),
    /** Makes this tab the one that sends. */
    startSending() {
      isSending = true
      drainAll()
    },

    /** Queues a message. Resolves once it is stored, and then it will be sent. @throws when it cannot be stored. */
    async send(message: { channelId: string; parentId?: string; body: MessageBody }): Promise<OutboxEntry> {
      const userId = parts.userId()
      if (userId === undefined) throw new Error('It is not known yet who is signed in')
      const createdAt = entries.laterThanAll()
      const entry: OutboxEntry = { ...message, id: randomId(), userId, createdAt, state: 'waiting' }
      await entries.add(entry)
      drainAll()
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
      // A second call finds no entry to send.
      await entries.add(fresh, entry)
      // The new entry is stored, so it is sent even if the old one cannot be removed.
      drainAll()
      await entries.remove(id)
    },
    /** Removes a message. A message that is being sent may still reach the server. */
    discard: entries.remove,

    /** Removes an entry when the event of its message comes. */
    apply(event: WireEvent) {
      const message =
        event.type === 'NEW_MESSAGE' || event.type === 'NEW_DM_MESSAGE'
          ? event.payload
          : event.type === 'NEW_THREAD_REPLY'
            ? event.payload.reply
            : undefined
      if (!message?.nonce || message.author.id !== parts.userId() || !entries.get(message.nonce)) return
      entries.remove(message.nonce).catch(parts.onStoreFailed)
    },

    /** Retries immediately instead of after the pause. */
    wake() {
      waking.abort()
      waking = new AbortController()
    },
    close: () => closing.abort(),
  }
}
