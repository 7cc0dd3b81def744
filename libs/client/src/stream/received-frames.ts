import type { WireEvent } from '@parley/contract'
import { createSeenIds } from './event-stream.ts'

/** An event that the leader forwards. `after` is the `id` of the previous event, so that a tab notices when it has missed one. */
export interface Frame {
  event: WireEvent
  id: string | undefined
  after: string | undefined
}

const maxKept = 2_000

/** What a tab has received. Every tab keeps the newest frames, because it may become the leader, whom others ask for what they have missed. */
export function createReceivedFrames(cursor: string | undefined) {
  const seen = createSeenIds()
  const kept: Frame[] = []

  return {
    /** The `id` of the newest event. */
    get cursor() {
      return cursor
    },
    has: seen.has,
    /** Returns false when the event is known already. Events without an `id` are always new, and are not kept. */
    add(frame: Frame): boolean {
      const { id } = frame
      if (id === undefined) return true
      if (!seen.add(id)) return false
      cursor = id
      kept.push(frame)
      if (kept.length > maxKept) kept.shift()
      return true
    },
    /** This tab is up to date until this event, although it may not have received it. */
    skipTo(id: string) {
      cursor = id
      seen.add(id)
    },
    /** Begins again at this cursor, because events were missed. */
    restart(at: string | undefined) {
      kept.length = 0
      cursor = at
    },
    /** The frames after a cursor. Null when they are not kept, or when the cursor is unknown. */
    after(known: string | undefined): Frame[] | null {
      if (known === undefined) return null
      if (known === cursor) return []
      const next = kept.findIndex(({ after }) => after === known)
      return next < 0 ? null : kept.slice(next)
    },
  }
}
