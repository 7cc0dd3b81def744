import type { EventPayload, WireEvent } from '@parley/contract'
import {
  createSeenIds,
  type EventStream,
  guarded,
  openRawStream,
  type StreamContext,
  type StreamHandlers,
  type StreamOptions,
} from './event-stream.ts'
import type { Tabs } from './tabs.ts'

/** One event as the leader passes it on. `after` is the `id` of the one before it, so that a hole shows. */
interface Frame {
  event: WireEvent
  id: string | undefined
  after: string | undefined
}

type Note =
  /** From a tab that has just come, or has found a hole: it asks for what it has missed. */
  | { kind: 'hello'; from: string; cursor: string | undefined }
  /** To that tab: go on behind `cursor`, after these frames. `resumed: false` when they are not all there. */
  | {
      kind: 'welcome'
      to: string
      connected: EventPayload<'CONNECTED'>
      resumed: boolean
      missed: Frame[]
      cursor: string | undefined
      watched: string[]
    }
  /** A leader has opened its stream. */
  | { kind: 'open'; connected: EventPayload<'CONNECTED'>; cursor: string | undefined; watched: string[] }
  | { kind: 'frame'; frame: Frame }
  | { kind: 'lost'; message: string; waitMs: number }
  | { kind: 'signed out' }
  | { kind: 'wake' }
  /** What a tab wants to follow beside the joined channels. */
  | { kind: 'watch'; from: string; channelIds: string[] }

const keptFrames = 2_000

/**
 * One connection for all tabs of a browser: HTTP/1.1 lets a browser have six to one server, and every stream takes one. The
 * leader has the stream and passes everything on by a BroadcastChannel; the next leader resumes behind the last event it has
 * seen itself.
 */
export function openSharedStream(
  tabs: Tabs,
  context: StreamContext,
  handlers: StreamHandlers,
  options: StreamOptions = {},
): EventStream {
  const seen = createSeenIds()
  const kept: Frame[] = []
  /** By tab. */
  const wanted = new Map<string, string[]>()
  const watchWaiters: (() => void)[] = []
  let followed: string[] = []
  let cursor = options.cursor
  let isJoined = false
  let isClosed = false
  let own: EventStream | undefined
  let connected: EventPayload<'CONNECTED'> | undefined
  let waking: ReturnType<typeof setTimeout> | undefined

  const post = (note: Note) => tabs.post('stream', note)

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

  function follow(note: Note) {
    if (own) return listenToFollowers(note)
    if (note.kind === 'welcome' && note.to === tabs.id) {
      for (const frame of note.missed) deliver(frame)
      // The role may be another one since the leader connected.
      join({ ...note.connected, role: undefined, resumed: note.resumed }, note.cursor)
      seeWatched(note.watched)
    } else if (note.kind === 'open') {
      // The leader resumed behind the last event it had seen itself. When this tab knows that event it knows everything before it.
      if (isJoined && note.connected.resumed && note.cursor !== undefined && seen.has(note.cursor)) {
        join(note.connected, undefined)
      } else hello()
      seeWatched(note.watched)
    } else if (note.kind === 'frame' && isJoined) {
      const { id, after } = note.frame
      if (id !== undefined && seen.has(id)) return
      if (after === cursor) deliver(note.frame)
      else hello()
    } else if (note.kind === 'lost') {
      guarded(() => handlers.onLost?.(new Error(note.message), note.waitMs))
      // Browsers slow down the timers of a background tab, which the leader may be. So this tab wakes it.
      clearTimeout(waking)
      waking = setTimeout(() => post({ kind: 'wake' }), note.waitMs)
    } else if (note.kind === 'signed out') {
      guarded(() => handlers.onSignedOut?.())
    }
  }

  function hello() {
    isJoined = false
    post({ kind: 'hello', from: tabs.id, cursor })
  }

  function listenToFollowers(note: Note) {
    if (note.kind === 'wake') own!.wake()
    if (note.kind === 'watch') {
      wanted.set(note.from, note.channelIds)
      void watchAll()
    }
    if (note.kind !== 'hello' || !connected) return
    const missed = framesAfter(note.cursor)
    const resumed = missed !== null
    post({ kind: 'welcome', to: note.from, connected, resumed, missed: missed ?? [], cursor, watched: followed })
  }

  /** Null when they are not kept, or the tab's cursor is unknown. */
  function framesAfter(known: string | undefined): Frame[] | null {
    if (known === undefined) return null
    if (known === cursor) return []
    const next = kept.findIndex(({ after }) => after === known)
    return next < 0 ? null : kept.slice(next)
  }

  /** The leader follows what any tab wants. */
  async function watchAll() {
    const channelIds = [...new Set([...wanted.values()].flat())]
    await own!.watch(channelIds)
    if (!isClosed) seeWatched(channelIds)
  }

  function seeWatched(channelIds: string[]) {
    followed = channelIds
    const mine = wanted.get(tabs.id) ?? []
    if (mine.every((id) => channelIds.includes(id))) for (const resolve of watchWaiters.splice(0)) resolve()
    else if (!own) post({ kind: 'watch', from: tabs.id, channelIds: mine })
  }

  function lead() {
    if (isClosed) return
    own = openRawStream(
      context,
      {
        onOpen(payload) {
          connected = payload
          followed = [...new Set([...wanted.values()].flat())]
          // After a connection that could not resume, this tab begins at the server's cursor.
          if (!payload.resumed) {
            kept.length = 0
            cursor = own?.cursor
          }
          join(payload, cursor)
          post({ kind: 'open', connected: payload, cursor, watched: followed })
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
    void watchAll()
  }

  /** What this tab followed when it went away. The browser may bring it back. */
  let left: string[] | undefined
  function onHide() {
    if (own) return
    left = wanted.get(tabs.id)
    wanted.delete(tabs.id)
    post({ kind: 'watch', from: tabs.id, channelIds: [] })
  }
  function onShow() {
    if (own || !left) return
    wanted.set(tabs.id, left)
    post({ kind: 'watch', from: tabs.id, channelIds: left })
  }
  const page = globalThis as Partial<EventTarget>
  page.addEventListener?.('pagehide', onHide)
  page.addEventListener?.('pageshow', onShow)

  tabs.listen('stream', (note) => follow(note as Note))
  tabs.whenLeader(lead)
  if (!tabs.isLeader) hello()

  return {
    get cursor() {
      return cursor
    },
    wake() {
      if (own) own.wake()
      else post({ kind: 'wake' })
    },
    watch(channelIds) {
      const mine = [...channelIds]
      wanted.set(tabs.id, mine)
      if (own) return watchAll()
      if (mine.every((id) => followed.includes(id)) && watchWaiters.length === 0) {
        post({ kind: 'watch', from: tabs.id, channelIds: mine })
        return Promise.resolve()
      }
      const opened = new Promise<void>((resolve) => watchWaiters.push(resolve))
      post({ kind: 'watch', from: tabs.id, channelIds: mine })
      return opened
    },
    close() {
      isClosed = true
      clearTimeout(waking)
      page.removeEventListener?.('pagehide', onHide)
      page.removeEventListener?.('pageshow', onShow)
      onHide()
      own?.close()
      for (const resolve of watchWaiters.splice(0)) resolve()
    },
  }
}
