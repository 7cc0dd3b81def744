import { type Client, RequestFailed, requestForPlace } from '@parley/client'
import { createLimiter } from '@parley/limiter'
import { isTemporary } from '../ui/retries.ts'
import { propertiesOf } from '../ui/stored-value.ts'
import { createStoredMap } from './stored-map.ts'

interface SendOptions {
  /** Whether the browser sends the request even when the page is closed. */
  keepalive?: boolean
}

/**
 * Sends to the server how far the person has read. What the server has not accepted yet is stored for all tabs and for the next start.
 * `repeatReads` sends it again, also when the person has left the channel or conversation.
 */
export function createReadSender(client: Client, userId: string) {
  /** What the server has not accepted yet, by the id of the channel or conversation. */
  const unsent = createStoredMap('read', userId, isPosition)
  /** The ids of those whose requests are open. */
  const sending = new Set<string>()
  const closing = new AbortController()
  /** There may be hundreds of channels to send. */
  const inTurn = createLimiter(3)

  /** Sends the newest position, unless another request or another tab has sent it meanwhile. */
  async function put(id: string, options: SendOptions = {}) {
    const body = unsent.all().get(id)
    if (!body || (sending.has(id) && !options.keepalive)) return
    sending.add(id)
    try {
      const input = { body, ...options, signal: closing.signal, repeats: 0 }
      await requestForPlace(client, 'PUT /channels/:channelId/read', id, input)
    } catch (error) {
      if (closing.signal.aborted) return
      if (!(error instanceof RequestFailed)) throw error
      if (isTemporary(error)) return
    } finally {
      sending.delete(id)
    }
    if (unsent.all().get(id)?.seq === body.seq) unsent.set(id, undefined)
    else await put(id)
  }

  return {
    unsent: unsent.all,
    /** Sends that the messages up to this `seq` were read. While the server gets nothing, only the newest `seq` is kept. */
    send(id: string, seq: number, options: SendOptions = {}) {
      // A view that closes after a sign-out must store nothing.
      if (closing.signal.aborted) return
      const before = unsent.all().get(id)
      unsent.set(id, { seq: Math.max(seq, before?.seq ?? 0) })
      if (options.keepalive) void put(id, options)
      else if (!before) void inTurn(() => put(id))
    },
    /** Sends everything that the server has not accepted yet. */
    sendAll() {
      for (const id of unsent.all().keys()) void inTurn(() => put(id))
    },
    close() {
      unsent.close()
      closing.abort()
    },
  }
}

const isPosition = (value: unknown): value is { seq: number } => Number.isInteger(propertiesOf(value).seq)
