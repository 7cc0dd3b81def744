import type { EventPayload } from '@parley/contract'
import {
  callHandler,
  type EventStream,
  openRawStream,
  type StreamContext,
  type StreamHandlers,
  type StreamOptions,
} from './event-stream.ts'
import { createReceivedFrames, type Frame } from './received-frames.ts'
import { createSharedWatching } from './shared-watching.ts'
import type { Tabs } from './tabs.ts'

type NoteOfLeader =
  /** To a tab that has said hello: the missed events, and the cursor after them. With `resumed: false`, not all missed events are there. */
  | {
      kind: 'welcome'
      to: string
      connected: EventPayload<'CONNECTED'>
      resumed: boolean
      missed: Frame[]
      cursor: string | undefined
      watched: string[]
    }
  /** The leader has opened its stream. */
  | { kind: 'open'; connected: EventPayload<'CONNECTED'>; cursor: string | undefined; watched: string[] }
  | { kind: 'frame'; frame: Frame }
  | { kind: 'lost'; message: string; waitMs: number }
  | { kind: 'signed out' }

type NoteToLeader =
  /** From a tab that has just opened or has noticed a hole: it asks for the events after its cursor. */
  | { kind: 'hello'; from: string; cursor: string | undefined }
  | { kind: 'wake' }
  /** The channels that a tab watches without having joined them. */
  | { kind: 'watch'; from: string; channelIds: string[] }

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
  const received = createReceivedFrames(options.cursor)
  /** Whether this tab has received everything up to its cursor. Then it takes the events that the leader forwards. */
  let isUpToDate = false
  let isClosed = false
  /** The stream to the server. Only the leader has one. */
  let serverStream: EventStream | undefined
  let connected: EventPayload<'CONNECTED'> | undefined
  let waking: ReturnType<typeof setTimeout> | undefined
  const watching = createSharedWatching({
    tabId: tabs.id,
    serverStream: () => serverStream,
    ask: (channelIds) => post({ kind: 'watch', from: tabs.id, channelIds }),
  })

  const post = (note: NoteOfLeader | NoteToLeader) => tabs.post('stream', note)

  function deliver(frame: Frame) {
    if (received.add(frame)) callHandler(() => handlers.onEvent(frame.event))
  }

  /** This tab is up to date until the event `upTo`. With `resumed: false`, it must fetch everything again for that. */
  function becomeUpToDate(payload: EventPayload<'CONNECTED'>, upTo: string | undefined) {
    isUpToDate = true
    clearTimeout(waking)
    if (upTo !== undefined) received.skipTo(upTo)
    callHandler(() => handlers.onOpen?.(payload))
  }

  /** Asks the leader for the events after the cursor of this tab. */
  function hello() {
    isUpToDate = false
    post({ kind: 'hello', from: tabs.id, cursor: received.cursor })
  }

  function onNoteOfLeader(note: NoteOfLeader) {
    switch (note.kind) {
      case 'welcome':
        if (note.to === tabs.id) onWelcome(note)
        return
      case 'open':
        // The leader resumed after its last event. If this tab has received that event, it has received all events before it.
        if (isUpToDate && note.connected.resumed && note.cursor !== undefined && received.has(note.cursor)) {
          becomeUpToDate(note.connected, undefined)
        } else hello()
        return watching.setWatched(note.watched)
      case 'frame':
        return onFrame(note.frame)
      case 'lost':
        callHandler(() => handlers.onLost?.(new Error(note.message), note.waitMs))
        // The leader may be a background tab, whose timers the browser slows down. So this tab wakes it.
        clearTimeout(waking)
        waking = setTimeout(() => post({ kind: 'wake' }), note.waitMs)
        return
      case 'signed out':
        return callHandler(() => handlers.onSignedOut?.())
    }
  }

  /** The answer to `hello`. */
  function onWelcome({ missed, connected, resumed, cursor, watched }: Extract<NoteOfLeader, { kind: 'welcome' }>) {
    for (const frame of missed) deliver(frame)
    // The role of the person may have changed since the leader connected.
    becomeUpToDate({ ...connected, role: undefined, resumed }, cursor)
    watching.setWatched(watched)
  }

  function onFrame(frame: Frame) {
    if (!isUpToDate || (frame.id !== undefined && received.has(frame.id))) return
    if (frame.after === received.cursor) deliver(frame)
    else hello()
  }

  function onNoteToLeader(note: NoteToLeader) {
    if (note.kind === 'wake') serverStream!.wake()
    else if (note.kind === 'watch') watching.onAsked(note.from, note.channelIds)
    else if (note.kind === 'hello' && connected) {
      const missed = received.after(note.cursor)
      post({
        kind: 'welcome',
        to: note.from,
        connected,
        resumed: missed !== null,
        missed: missed ?? [],
        cursor: received.cursor,
        watched: watching.watched(),
      })
    }
  }

  function lead() {
    if (isClosed) return
    serverStream = openRawStream(
      context,
      {
        onOpen(payload) {
          connected = payload
          watching.onOpen()
          // After a connection that could not resume, this tab begins at the server's cursor.
          if (!payload.resumed) received.restart(serverStream?.cursor)
          becomeUpToDate(payload, received.cursor)
          post({ kind: 'open', connected: payload, cursor: received.cursor, watched: watching.watched() })
        },
        onFrame(event, id) {
          const frame = { event, id, after: received.cursor }
          if (id !== undefined && received.has(id)) return
          post({ kind: 'frame', frame })
          deliver(frame)
        },
        onLost(why, waitMs) {
          post({ kind: 'lost', message: why.message, waitMs })
          handlers.onLost?.(why, waitMs)
        },
        onSignedOut() {
          post({ kind: 'signed out' })
          handlers.onSignedOut?.()
        },
      },
      { ...options, cursor: received.cursor },
    )
    void watching.watchAll()
  }

  tabs.listen('stream', (note) => {
    if (serverStream) onNoteToLeader(note as NoteToLeader)
    else onNoteOfLeader(note as NoteOfLeader)
  })
  tabs.whenLeader(lead)
  if (!tabs.isLeader) hello()

  return {
    get cursor() {
      return received.cursor
    },
    wake() {
      if (serverStream) serverStream.wake()
      else post({ kind: 'wake' })
    },
    watch: watching.watch,
    close() {
      isClosed = true
      clearTimeout(waking)
      watching.close()
      serverStream?.close()
    },
  }
}
