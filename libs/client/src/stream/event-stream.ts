import type { EventPayload, WireEvent } from '@parley/contract'
import { jittered, pause } from '../requests/backoff.ts'
import { RequestFailed } from '../requests/request-failed.ts'
import type { Session } from '../session/session.ts'
import { createFrameReader } from './frames.ts'

export interface StreamHandlers {
  /**
   * The stream is open. `resumed: false`: events may have been missed since the last one, so whatever is kept must be fetched
   * anew; what is fetched from now on, with the events that follow, is complete.
   */
  onOpen?: (connected: EventPayload<'CONNECTED'>) => void
  /** Every event but CONNECTED, once, in order. */
  onEvent: (event: WireEvent) => void
  /** The connection is lost, and will be tried again after so many milliseconds. */
  onLost?: (why: Error, waitMs: number) => void
  /** No further try is made: the session has ended. */
  onSignedOut?: () => void
}

export interface StreamOptions {
  /** Resume behind this event, as `EventStream.cursor` gave it. */
  cursor?: string | undefined
  /** After so many milliseconds without a byte the connection counts as lost; the server sends one every 25 s. */
  silenceMs?: number
  /** Of channels only those that the person has joined, those in `watch`, and what mentions the person. */
  scope?: 'all' | 'joined' | undefined
  /** No PRESENCE_UPDATE. */
  presence?: 'none' | undefined
}

export interface EventStream {
  /** Where to resume: the `id` of the newest event that was handed over. */
  readonly cursor: string | undefined
  /** Makes the next try now, when the stream waits for it. */
  wake(): void
  /**
   * Follows these public channels too, without having joined them (`scope: 'joined'`). Reconnects behind the last event; resolves
   * once a connection follows them.
   */
  watch(channelIds: readonly string[]): Promise<void>
  close(): void
}

export interface StreamContext {
  baseUrl: string
  session: Session
  fetch: typeof fetch
}

/** For a stream that passes its events on to others. */
export interface RawHandlers extends Omit<StreamHandlers, 'onEvent'> {
  onFrame: (event: WireEvent, id: string | undefined) => void
}

const mostWaitMs = 30_000
const usualRetryMs = 2_000
const rememberedIds = 2_000
/** The server takes no more. */
export const mostWatched = 50

export const openEventStream = (
  context: StreamContext,
  { onEvent, ...handlers }: StreamHandlers,
  options: StreamOptions = {},
): EventStream => openRawStream(context, { ...handlers, onFrame: (event) => onEvent(event) }, options)

/** Keeps one connection to `/events` open until it is closed or the session ends. */
export function openRawStream(
  { baseUrl, session, fetch }: StreamContext,
  handlers: RawHandlers,
  { cursor, silenceMs = 60_000, scope, presence }: StreamOptions = {},
): EventStream {
  const seen = createSeenIds()
  let watched: readonly string[] = []
  const watchWaiters: (() => void)[] = []
  let isWatchNew = false
  let closed = false
  let failures = 0
  let retryMs = usualRetryMs
  let current = new AbortController()
  let isWaiting = false

  async function run() {
    while (!closed) {
      const failure = await follow()
      if (closed) return
      if (isWatchNew) continue
      if (session.isSignedOut()) return handlers.onSignedOut?.()
      const waitMs = waitAfter(failure)
      failures++
      current = new AbortController()
      handlers.onLost?.(failure, waitMs)
      isWaiting = true
      await pause(waitMs, current.signal)
      isWaiting = false
    }
  }

  /** The server has spread `retry` already; from the second failure on it is spread here, over more and more time. */
  function waitAfter(failure: Error): number {
    const asked = failure instanceof RequestFailed ? (failure.retryAfter ?? 0) * 1_000 : 0
    const waitMs = failures === 0 ? retryMs : jittered(failures, { firstMs: retryMs, mostMs: mostWaitMs })
    return Math.max(asked, waitMs)
  }

  /** Opens the stream and hands over its events until it ends; answers why it ended. */
  async function follow(): Promise<Error> {
    const connection = new AbortController()
    current = connection
    isWatchNew = false
    // One interval checks for silence. There is no timer per chunk, because thousands of chunks may come each second.
    let heardAt = Date.now()
    const watchdog = setInterval(() => {
      if (Date.now() - heardAt >= silenceMs) connection.abort(new Error(`nothing was heard for ${silenceMs} ms`))
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
      // Not `for await`, which older versions of Safari do not support here.
      const reader = response.body!.getReader()
      for (let read = await reader.read(); !read.done && !closed; read = await reader.read()) {
        heardAt = Date.now()
        parser.feed(decoder.decode(read.value, { stream: true }))
      }
      return new Error('the server ended the stream')
    } catch (error) {
      return connection.signal.aborted ? (connection.signal.reason as Error) : (error as Error)
    } finally {
      clearInterval(watchdog)
      connection.abort()
    }
  }

  async function connect(signal: AbortSignal): Promise<Response> {
    const response = await session.authorized((token) => ask(token, signal))
    if (response.status !== 200) throw await RequestFailed.from(response)
    if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
      throw new Error('no event stream')
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

  const ask = (token: string, signal: AbortSignal) =>
    fetch(address(), {
      headers: {
        accept: 'text/event-stream',
        authorization: `Bearer ${token}`,
        ...(cursor === undefined ? {} : { 'last-event-id': cursor }),
      },
      cache: 'no-store',
      signal,
    }).catch((error) => {
      throw signal.aborted ? error : RequestFailed.noAnswer(error)
    })

  function receive(event: WireEvent, id: string | undefined) {
    if (closed) return
    if (event.type === 'CONNECTED') {
      failures = 0
      cursor = id ?? cursor
      guarded(() => handlers.onOpen?.(event.payload))
      if (!isWatchNew) for (const resolve of watchWaiters.splice(0)) resolve()
      return
    }
    if (id !== undefined) {
      if (!seen.add(id)) return
      cursor = id
    }
    guarded(() => handlers.onFrame(event, id))
  }

  void run()
  return {
    get cursor() {
      return cursor
    },
    wake() {
      if (isWaiting) current.abort()
    },
    watch(channelIds) {
      const next = [...new Set(channelIds)].sort().slice(-mostWatched)
      if (next.join() === watched.join() && watchWaiters.length === 0) return Promise.resolve()
      const opened = new Promise<void>((resolve) => watchWaiters.push(resolve))
      if (next.join() !== watched.join()) {
        watched = next
        isWatchNew = true
        current.abort(new Error('other channels are watched'))
      }
      return opened
    },
    close() {
      closed = true
      current.abort()
      for (const resolve of watchWaiters.splice(0)) resolve()
    },
  }
}

/** What a handler throws is its own program's fault: reported as uncaught, and the stream goes on. */
export function guarded(handle: () => void) {
  try {
    handle()
  } catch (error) {
    queueMicrotask(() => {
      throw error
    })
  }
}

/** The newest ids: after a failure an event may come a second time, with the same one. */
export function createSeenIds(most = rememberedIds) {
  const ids = new Set<string>()
  return {
    has: (id: string) => ids.has(id),
    /** False when it was there. */
    add(id: string): boolean {
      if (ids.has(id)) return false
      ids.add(id)
      if (ids.size > most) ids.delete(ids.values().next().value!)
      return true
    },
  }
}
