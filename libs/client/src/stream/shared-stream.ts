import type { EventPayload, WireEvent } from '@parley/contract'
import {
  callHandler,
  createSeenIds,
  type EventStream,
  openRawStream,
  type StreamContext,
  type StreamHandlers,
  type StreamOptions,
} from './event-stream.ts'
import type { Tabs } from './tabs.ts'

/** An event that the leader forwards. `after` is the `id` of the previous event, so that a tab notices when it has missed one. */
interface Frame {
  event: WireEvent
  id: string | undefined
  after: string | undefined
}

type Note =
  /** From a tab that has just opened or has noticed a hole: it asks for the events after its cursor. */
  | { kind: 'hello'; from: string; cursor: string | undefined }
  /** To that tab: the missed events, and the cursor after them. With `resumed: false`, not all missed events are there. */
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
  /** The channels that a tab watches without having joined them. */
  | { kind: 'watch'; from: string; channelIds: string[] }

const keptFrames = 2_000

/**
 * One connection for all tabs of a browser, because a browser opens at most six HTTP/1.1 connections to one server, and each stream
 * occupies one. The leader has the stream and forwards its events through a BroadcastChannel. The next leader resumes after the last
 * event that it has received.
 */
export function openSharedStream(
  tabs: Tabs,
  context: StreamContext,
  handlers: StreamHandlers,
  options: StreamOptions = {},
): EventStream {
  const seen = createSeenIds()
  const kept: Frame[] = []
  /** The watched channels of each tab. */
  const wanted = new Map<string, string[]>()
  const watchWaiters: (() => void)[] = []
  /** The channels that the shared connection watches. */
  let watched: string[] = []
  let cursor = options.cursor
  let isJoined = false
  let isClosed = false
  /** The stream to the server. Only the leader has one. */
  let serverStream: EventStream | undefined
  let connected: EventPayload<'CONNECTED'> | undefined
  let waking: ReturnType<typeof setTimeout> | undefined

  const post = (note: Note) => tabs.post('stream', note)

  /** Every tab keeps the newest frames, because it may become the leader. */
  function deliver(frame: Frame) {
    const { event, id } = frame
    if (id !== undefined) {
      if (!seen.add(id)) return
      cursor = id
      kept.push(frame)
      if (kept.length > keptFrames) kept.shift()
    }
    callHandler(() => handlers.onEvent(event))
  }

  /** This tab is up to date until `upTo`, or `payload.resumed` says that it must fetch everything again. */
  function join(payload: EventPayload<'CONNECTED'>, upTo: string | undefined) {
    isJoined = true
    clearTimeout(waking)
    if (upTo !== undefined) {
      cursor = upTo
      seen.add(upTo)
    }
    callHandler(() => handlers.onOpen?.(payload))
  }

  function onNote(note: Note) {
    if (serverStream) return onNoteToLeader(note)
    if (note.kind === 'welcome' && note.to === tabs.id) {
      for (const frame of note.missed) deliver(frame)
      // The role of the person may have changed since the leader connected.
      join({ ...note.connected, role: undefined, resumed: note.resumed }, note.cursor)
      setWatched(note.watched)
    } else if (note.kind === 'open') {
      // The leader resumed after its last event. If this tab has received that event, it has received all events before it.
      if (isJoined && note.connected.resumed && note.cursor !== undefined && seen.has(note.cursor)) {
        join(note.connected, undefined)
      } else hello()
      setWatched(note.watched)
    } else if (note.kind === 'frame' && isJoined) {
      const { id, after } = note.frame
      if (id !== undefined && seen.has(id)) return
      if (after === cursor) deliver(note.frame)
      else hello()
    } else if (note.kind === 'lost') {
      callHandler(() => handlers.onLost?.(new Error(note.message), note.waitMs))
      // The leader may be a background tab, whose timers the browser slows down. So this tab wakes it.
      clearTimeout(waking)
      waking = setTimeout(() => post({ kind: 'wake' }), note.waitMs)
    } else if (note.kind === 'signed out') {
      callHandler(() => handlers.onSignedOut?.())
    }
  }

  function hello() {
    isJoined = false
    post({ kind: 'hello', from: tabs.id, cursor })
  }

  function onNoteToLeader(note: Note) {
    if (note.kind === 'wake') serverStream!.wake()
    if (note.kind === 'watch') {
      wanted.set(note.from, note.channelIds)
      void watchAll()
    }
    if (note.kind !== 'hello' || !connected) return
    const missed = framesAfter(note.cursor)
    const resumed = missed !== null
    post({ kind: 'welcome', to: note.from, connected, resumed, missed: missed ?? [], cursor, watched })
  }

  /** The frames after a cursor. Null when they are not kept, or when the cursor is unknown. */
  function framesAfter(known: string | undefined): Frame[] | null {
    if (known === undefined) return null
    if (known === cursor) return []
    const next = kept.findIndex(({ after }) => after === known)
    return next < 0 ? null : kept.slice(next)
  }

  /** The channels that some tab watches. */
  const wantedByAll = () => [...new Set([...wanted.values()].flat())]

  async function watchAll() {
    const channelIds = wantedByAll()
    await serverStream!.watch(channelIds)
    if (!isClosed) setWatched(channelIds)
  }

  /** Call it with the channels that the shared connection watches now. Asks the leader for those of this tab that are missing. */
  function setWatched(channelIds: string[]) {
    watched = channelIds
    const mine = wanted.get(tabs.id) ?? []
    if (mine.every((id) => channelIds.includes(id))) for (const resolve of watchWaiters.splice(0)) resolve()
    else if (!serverStream) post({ kind: 'watch', from: tabs.id, channelIds: mine })
  }

  function lead() {
    if (isClosed) return
    serverStream = openRawStream(
      context,
      {
        onOpen(payload) {
          connected = payload
          watched = wantedByAll()
          // After a connection that could not resume, this tab begins at the server's cursor.
          if (!payload.resumed) {
            kept.length = 0
            cursor = serverStream?.cursor
          }
          join(payload, cursor)
          post({ kind: 'open', connected: payload, cursor, watched })
        },
        onFrame(event, id) {
          const frame = { event, id, after: cursor }
          if (id !== undefined && seen.has(id)) return
          post({ kind: 'frame', frame })
          deliver(frame)
        },
        onLost(why, waitMs) {
          post({ kind: 'lost', message: why.message, waitMs })
          handlers.onLost?.(why, waitMs)
        },
        onSignedOut() {
          post({ kind: 'signed out' })
          callHandler(() => handlers.onSignedOut?.())
        },
      },
      { ...options, cursor },
    )
    void watchAll()
  }

  /** The channels that this tab watched when it was hidden. The browser may show it again. */
  let watchedWhenHidden: string[] | undefined
  function onHide() {
    if (serverStream) return
    watchedWhenHidden = wanted.get(tabs.id)
    wanted.delete(tabs.id)
    post({ kind: 'watch', from: tabs.id, channelIds: [] })
  }
  function onShow() {
    if (serverStream || !watchedWhenHidden) return
    wanted.set(tabs.id, watchedWhenHidden)
    post({ kind: 'watch', from: tabs.id, channelIds: watchedWhenHidden })
  }
  const page = globalThis as Partial<EventTarget>
  page.addEventListener?.('pagehide', onHide)
  page.addEventListener?.('pageshow', onShow)

  tabs.listen('stream', (note) => onNote(note as Note))
  tabs.whenLeader(lead)
  if (!tabs.isLeader) hello()

  return {
    get cursor() {
      return cursor
    },
    wake() {
      if (serverStream) serverStream.wake()
      else post({ kind: 'wake' })
    },
    watch(channelIds) {
      const mine = [...channelIds]
      wanted.set(tabs.id, mine)
      if (serverStream) return watchAll()
      if (mine.every((id) => watched.includes(id)) && watchWaiters.length === 0) {
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
      serverStream?.close()
      for (const resolve of watchWaiters.splice(0)) resolve()
    },
  }
}
