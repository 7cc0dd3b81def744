import type { EventPayload, WireEvent } from '@parley/contract'
import {
  createSeenIds,
  type EventStream,
  guarded,
  openEventStream,
  openRawStream,
  type StreamContext,
  type StreamHandlers,
  type StreamOptions,
} from './event-stream.ts'

/** One event as the leader passes it on. `after` is the `id` of the one before it, so that a hole shows. */
interface Frame {
  event: WireEvent
  id: string | undefined
  after: string | undefined
}

type Note =
  /** From a tab that has just come, or has found a hole: what has it missed? */
  | { kind: 'hello'; from: string; cursor: string | undefined }
  /** To that tab: go on behind `cursor`, after these frames. `resumed: false` when they are not all there. */
  | {
      kind: 'welcome'
      to: string
      connected: EventPayload<'CONNECTED'>
      resumed: boolean
      missed: Frame[]
      cursor: string | undefined
    }
  /** A leader has opened its stream. */
  | { kind: 'open'; connected: EventPayload<'CONNECTED'>; cursor: string | undefined }
  | { kind: 'frame'; frame: Frame }
  | { kind: 'lost'; message: string; waitMs: number }
  | { kind: 'signed out' }
  | { kind: 'wake' }

const keptFrames = 2_000

/**
 * One connection for all tabs of a browser: HTTP/1.1 lets a browser have six to one server, and every stream takes one. The
 * tab that holds the Web Lock `name` has the stream and passes everything on by a BroadcastChannel; when it is closed or
 * crashes, the browser gives the lock to the next one, which resumes behind the last event it has seen itself.
 *
 * Web Locks rather than a SharedWorker: they are in every browser, phones too, the browser itself notices the death of a
 * tab, and a tab that holds one is not frozen in the background.
 */
export function openSharedStream(
  name: string,
  context: StreamContext,
  handlers: StreamHandlers,
  options: StreamOptions = {},
): EventStream {
  const { locks } = (globalThis.navigator ?? {}) as { locks?: LocksOfBrowser }
  if (!locks || typeof BroadcastChannel === 'undefined') return openEventStream(context, handlers, options)

  const tab = crypto.randomUUID()
  const channel = new BroadcastChannel(`parley.stream:${name}`)
  const leaving = new AbortController()
  const seen = createSeenIds()
  const kept: Frame[] = []
  let cursor = options.cursor
  let isJoined = false
  let own: EventStream | undefined
  let connected: EventPayload<'CONNECTED'> | undefined
  let waking: ReturnType<typeof setTimeout> | undefined

  const post = (note: Note) => channel.postMessage(note)

  /** Every tab keeps the newest frames: it may be the next leader. */
  function deliver(frame: Frame) {
    const { event, id } = frame
    if (id !== undefined) {
      if (!seen.add(id)) return
      cursor = id
      kept.push(frame)
      if (kept.length > keptFrames) kept.shift()
    }
    guarded(() => handlers.onEvent(event))
  }

  /** This tab has everything up to `upTo`, or is told that it has not. */
  function join(payload: EventPayload<'CONNECTED'>, upTo: string | undefined) {
    isJoined = true
    clearTimeout(waking)
    if (upTo !== undefined) {
      cursor = upTo
      seen.add(upTo)
    }
    guarded(() => handlers.onOpen?.(payload))
  }

  function follow(data: Note) {
    if (own) return listenToFollowers(data)
    if (data.kind === 'welcome' && data.to === tab) {
      for (const frame of data.missed) deliver(frame)
      join({ ...data.connected, resumed: data.resumed }, data.cursor)
    } else if (data.kind === 'open') {
      // The leader resumed behind what it had seen itself. Had it seen less, it repeats what is known here; more, and there
      // is a hole.
      if (isJoined && data.connected.resumed && data.cursor !== undefined && seen.has(data.cursor)) {
        join(data.connected, undefined)
      } else hello()
    } else if (data.kind === 'frame' && isJoined) {
      const { id, after } = data.frame
      if (id !== undefined && seen.has(id)) return
      if (after === cursor) deliver(data.frame)
      else hello()
    } else if (data.kind === 'lost') {
      guarded(() => handlers.onLost?.(new Error(data.message), data.waitMs))
      // Timers of a leader in the background may be slow: this tab's are not when somebody looks at it.
      clearTimeout(waking)
      waking = setTimeout(() => post({ kind: 'wake' }), data.waitMs)
    } else if (data.kind === 'signed out') {
      guarded(() => handlers.onSignedOut?.())
    }
  }

  function hello() {
    isJoined = false
    post({ kind: 'hello', from: tab, cursor })
  }

  function listenToFollowers(note: Note) {
    if (note.kind === 'wake') own!.wake()
    if (note.kind !== 'hello' || !connected) return
    const missed = framesAfter(note.cursor)
    post({
      kind: 'welcome',
      to: note.from,
      connected,
      resumed: missed !== null,
      missed: missed ?? [],
      cursor,
    })
  }

  /** Null when they are not kept, or where it stands is unknown. */
  function framesAfter(known: string | undefined): Frame[] | null {
    if (known === undefined) return null
    if (known === cursor) return []
    const next = kept.findIndex(({ after }) => after === known)
    return next < 0 ? null : kept.slice(next)
  }

  function lead(): Promise<void> {
    return new Promise((resolve) => {
      own = openRawStream(
        context,
        {
          onOpen(payload) {
            connected = payload
            // Whoever could not resume begins behind what the server calls now.
            if (!payload.resumed) {
              kept.length = 0
              cursor = own?.cursor
            }
            join(payload, cursor)
            post({ kind: 'open', connected: payload, cursor })
          },
          onFrame(event, id) {
            const frame = { event, id, after: cursor }
            if (id !== undefined && seen.has(id)) return
            post({ kind: 'frame', frame })
            deliver(frame)
          },
          onLost(why, waitMs) {
            post({ kind: 'lost', message: why.message, waitMs })
            guarded(() => handlers.onLost?.(why, waitMs))
          },
          onSignedOut() {
            post({ kind: 'signed out' })
            guarded(() => handlers.onSignedOut?.())
          },
        },
        { ...options, cursor },
      )
      leaving.signal.addEventListener('abort', () => {
        own!.close()
        resolve()
      })
    })
  }

  channel.onmessage = ({ data }: { data: unknown }) => follow(data as Note)
  locks
    .request(`parley.stream:${name}`, { signal: leaving.signal }, () => (leaving.signal.aborted ? undefined : lead()))
    .catch((error: Error) => {
      if (!leaving.signal.aborted) throw error
    })
  hello()

  return {
    get cursor() {
      return cursor
    },
    wake() {
      if (own) own.wake()
      else post({ kind: 'wake' })
    },
    close() {
      clearTimeout(waking)
      leaving.abort()
      channel.close()
    },
  }
}

interface LocksOfBrowser {
  request(name: string, options: { signal: AbortSignal }, work: () => Promise<void> | undefined): Promise<void>
}
