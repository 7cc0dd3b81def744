import { type Client, RequestFailed, requestForPlace } from '@parley/client'
import { createLimiter } from '@parley/limiter'
import { isTemporary } from '../ui/problems.ts'

/** The pause before the next try after a failure. */
const retryMs = 5_000

interface SendOptions {
  /** Whether the browser sends the request even when the page is closed. */
  keepalive?: boolean
}

/**
 * Sends to the server how far the person has read. What the server does not get is sent again later, also when the person has left the
 * channel or conversation. `isLive` says whether the server can be reached.
 */
export function createReadSender(client: Client, isLive: () => boolean) {
  /** The `seq` of failed requests, by the id of the channel or conversation. */
  const failed = new Map<string, number>()
  const closing = new AbortController()
  /** There may be hundreds of channels to send. */
  const inTurn = createLimiter(3)
  let timer: ReturnType<typeof setTimeout> | undefined

  function sendAgain() {
    if (isLive()) for (const [id, seq] of failed) void put(id, seq)
  }

  async function put(id: string, seq: number, options: SendOptions = {}) {
    failed.delete(id)
    const input = { body: { seq }, ...options, signal: closing.signal, repeats: 0 }
    const request = () => requestForPlace(client, 'PUT /channels/:channelId/read', id, input)
    try {
      await (options.keepalive ? request() : inTurn(request))
    } catch (error) {
      if (closing.signal.aborted) return
      if (!(error instanceof RequestFailed)) throw error
      if (!isTemporary(error)) return
      failed.set(id, Math.max(seq, failed.get(id) ?? 0))
      clearTimeout(timer)
      timer = setTimeout(sendAgain, retryMs)
    }
  }

  return {
    /** Sends that the messages up to this `seq` were read. While the server gets nothing, only the newest `seq` is kept. */
    send(id: string, seq: number, options: SendOptions = {}) {
      if (failed.has(id) && !options.keepalive) failed.set(id, seq)
      else void put(id, seq, options)
    },
    /** Sends what the server did not get. Call it when the server can be reached again. */
    sendAgain,
    close() {
      clearTimeout(timer)
      closing.abort()
    },
  }
}
