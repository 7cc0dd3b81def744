import type { EventPayload, WireEvent } from '@parley/contract'
import { jittered, pause } from '../requests/backoff.ts'
import { RequestFailed } from '../requests/request-failed.ts'
import type { Session } from '../session/session.ts'
import { createFrameReader } from './frames.ts'

export interface StreamHandlers {
  /**
   * The stream is open. With `resumed: false`, events may have been missed, so all data must be fetched again. Data that is fetched from
   * now on is complete together with the events that follow.
   */
  onOpen?: (connected: EventPayload<'CONNECTED'>) => void
  /** Every event but CONNECTED, once, in order. */
  onEvent: (event: WireEvent) => void
  /** The connection was lost. The stream reconnects after `waitMs`. */
  onLost?: (why: Error, waitMs: number) => void
  /** The session has ended, so the stream does not reconnect. */
  onSignedOut?: () => void
}

export interface StreamOptions {
  /** Resume after this event. It is a value of `EventStream.cursor`. */
  cursor?: string | undefined
  /** When no byte comes for this time, the connection counts as lost. The server sends at least a comment every 25 s. */
  silenceMs?: number
  /** With `joined`: only events of joined channels, of the channels in `watch`, and messages that mention the person. */
  scope?: 'all' | 'joined' | undefined
  /** With `none`: no PRESENCE_UPDATE events. */
  presence?: 'none' | undefined
}

export interface EventStream {
  /** The position at which to resume: the `id` of the newest event that a handler got. */
  readonly cursor: string | undefined
  /** Reconnects immediately if the stream is waiting to reconnect. */
  wake(): void
  /**
   * With `scope: 'joined'`: watches these public channels, which the person has not joined. The stream reconnects at its cursor, and the
   * promise resolves when the new connection is open.
   */
  watch(channelIds: readonly string[]): Promise<void>
  close(): void
}

export interface StreamContext {
  baseUrl: string
  session: Session
  fetch: typeof fetch
}

/** The handlers of a stream that forwards its events to other tabs. */
interface RawHandlers extends Omit<StreamHandlers, 'onEvent'> {
  onFrame: (event: WireEvent, id: string | undefined) => void
}

const maxWaitMs = 30_000
const usualRetryMs = 2_000
const rememberedIds = 2_000
/** The server accepts no more channels in `watch`. */
const maxWatched = 50

export const openEventStream = (
  context: StreamContext,
  { onEvent, ...handlers }: StreamHandlers,
  options: StreamOptions = {},
): EventStream => openRawStream(context, { ...handlers, onFrame: (event) => onEvent(event) }, options)

/** Keeps one connection to `/events` open until `close` is called or the session ends. */
export function openRawStream(
  { baseUrl, session, fetch }: StreamContext,
  handlers: RawHandlers,
  { cursor, silenceMs = 60_000, scope, presence }: StreamOptions,
): EventStream {
  const seen = createSeenIds()
  let watched: readonly string[] = []
  /** The calls of `watch` that wait for the new connection. */
  const watchWaiters: (() => void)[] = []
  /** Whether the connection must be opened again, because other channels are watched. */
  let isWatchChanged = false
  let closed = false
  let failures = 0
  let retryMs = usualRetryMs
  /** Ends the open connection, or the pause before the next one. */
  let interruption = new AbortController()
  /** Whether the stream waits to reconnect. */
  let isWaiting = false

  async function run() {
    while (!closed) {
      const failure = await readUntilLost()
      if (closed) return
      if (isWatchChanged) continue
      if (session.isSignedOut()) return callHandler(() => handlers.onSignedOut?.())
      const waitMs = waitAfter(failure)
      failures++
      interruption = new AbortController()
      callHandler(() => handlers.onLost?.(failure, waitMs))
      isWaiting = true
      await pause(waitMs, interruption.signal)
      isWaiting = false
    }
  }

  /** The first pause is the `retry` of the server, which is random already. Later pauses are random here, and get longer. */
  function waitAfter(failure: Error): number {
    const retryAfterMs = failure instanceof RequestFailed ? (failure.retryAfter ?? 0) * 1_000 : 0
    const waitMs = failures === 0 ? retryMs : jittered(failures, { firstMs: retryMs, maxMs: maxWaitMs })
    return Math.max(retryAfterMs, waitMs)
  }

  /** Opens a connection and passes its events to the handlers until it ends. Returns the reason of the end. */
  async function readUntilLost(): Promise<Error> {
    const connection = new AbortController()
    interruption = connection
    isWatchChanged = false
    // One interval checks for silence. A timer for each chunk would be too slow, because thousands of chunks may come each second.
    let receivedAt = Date.now()
    const watchdog = setInterval(() => {
      if (Date.now() - receivedAt >= silenceMs) connection.abort(new Error(`No data came for ${silenceMs} ms`))
    }, silenceMs / 4)
    try {
      const response = await connect(connection.signal)
      const decoder = new TextDecoder()
      const parser = createFrameReader({
        onEvent: ({ data, id }) => receive(JSON.parse(data) as WireEvent, id),
        onRetry: (milliseconds) => {
          retryMs = milliseconds
        },
      })
      // Older versions of Safari do not support `for await` here.
      const reader = response.body!.getReader()
      for (let read = await reader.read(); !read.done && !closed; read = await reader.read()) {
        receivedAt = Date.now()
        parser.feed(decoder.decode(read.value, { stream: true }))
      }
      return new Error('The stream has ended')
    } catch (error) {
      return connection.signal.aborted ? (connection.signal.reason as Error) : (error as Error)
    } finally {
      clearInterval(watchdog)
      connection.abort()
    }
  }

  async function connect(signal: AbortSignal): Promise<Response> {
    const response = await session.authorized((token) => requestEvents(token, signal))
    if (response.status !== 200) throw await RequestFailed.from(response)
    if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
      throw new Error('No event stream')
    }
    return response
  }

  function address(): string {
    const query = new URLSearchParams({
      ...(scope === 'joined' && { scope }),
      ...(presence && { presence }),
      ...(watched.length > 0 && { watch: watched.join(',') }),
    }).toString()
    return `${baseUrl}/events${query && `?${query}`}`
  }

  const requestEvents = (token: string, signal: AbortSignal) =>
    fetch(address(), {
      headers: {
        accept: 'text/event-stream',
        authorization: `Bearer ${token}`,
        ...(cursor !== undefined && { 'last-event-id': cursor }),
      },
      cache: 'no-store',
      signal,
    }).catch((error) => {
      throw signal.aborted ? error : RequestFailed.noResponse(error)
    })

  function receive(event: WireEvent, id: string | undefined) {
    if (closed) return
    if (event.type === 'CONNECTED') {
      failures = 0
      cursor = id ?? cursor
      callHandler(() => handlers.onOpen?.(event.payload))
      if (!isWatchChanged) for (const resolve of watchWaiters.splice(0)) resolve()
      return
    }
    if (id !== undefined) {
      if (!seen.add(id)) return
      cursor = id
    }
    callHandler(() => handlers.onFrame(event, id))
  }

  void run()
  return {
    get cursor() {
      return cursor
    },
    wake() {
      if (isWaiting) interruption.abort()
    },
    watch(channelIds) {
      const next = [...new Set(channelIds)].sort().slice(-maxWatched)
      const isSame = next.join() === watched.join()
      if (isSame && watchWaiters.length === 0) return Promise.resolve()
      const opened = new Promise<void>((resolve) => watchWaiters.push(resolve))
      if (!isSame) {
        watched = next
        isWatchChanged = true
        interruption.abort(new Error('Other channels are watched'))
      }
      return opened
    },
    close() {
      closed = true
      interruption.abort()
      for (const resolve of watchWaiters.splice(0)) resolve()
    },
  }
}

/** Calls a handler of the program. An error that it throws is reported as uncaught, and the stream continues. */
export function callHandler(handle: () => void) {
  try {
    handle()
  } catch (error) {
    queueMicrotask(() => {
      throw error
    })
  }
}

/** Remembers the newest event ids, because an event may come a second time after a failure. */
export function createSeenIds() {
  const ids = new Set<string>()
  return {
    has: (id: string) => ids.has(id),
    /** Returns false if the id was there already. */
    add(id: string): boolean {
      if (ids.has(id)) return false
      ids.add(id)
      if (ids.size > rememberedIds) ids.delete(ids.values().next().value!)
      return true
    },
  }
}
