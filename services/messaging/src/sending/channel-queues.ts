import type { Unsettled } from './send-batch.ts'
import type { Sending } from './sending.ts'

/** What waits for one channel, in the order it came. */
interface Line {
  readonly channelId: string | null
  waiting: Sending[]
  /** Somebody else holds the channel's lock: its sends get a statement of their own, which waits. */
  contended: boolean
}

/** The sends of one statement, and the lines they come from. */
export interface Draw {
  lines: readonly Line[]
  batch: readonly Sending[]
}

export interface WaitingLines {
  /** How many sends wait, those being drawn not counted. */
  readonly size: number
  readonly hasReady: boolean
  readonly hasContended: boolean
  add(sending: Sending): void
  /** At most `limit` sends for the next statement; their channels are not drawn again before `release`. */
  draw(limit: number): Draw
  /** The same, of one contended channel. */
  drawContended(limit: number): Draw
  /** Gives drawn channels free again. What must be tried again goes before whatever came later. */
  release(lines: readonly Line[], again: readonly Unsettled[]): void
  /** Takes contended channels back among the others. */
  relent(): void
  /** Drops the waiting sends for which `keep` answers false. */
  retain(keep: (sending: Sending) => boolean): void
}

/**
 * The sends that wait in this process, one line per channel. A channel is in one statement at a time: two statements of
 * one process would only wait for each other. Channels take turns, so that a busy one does not starve the others.
 */
export function createWaitingLines(): WaitingLines {
  const lines = new Map<string | null, Line>()
  let ready: Line[] = []
  let contended: Line[] = []
  let size = 0

  const enlist = (line: Line) => (line.contended ? contended : ready).push(line)

  function move(line: Line, limit: number, batch: Sending[]) {
    const moved = line.waiting.splice(0, limit)
    size -= moved.length
    for (const sending of moved) batch.push(sending)
  }

  return {
    get size() {
      return size
    },
    get hasReady() {
      return ready.length > 0
    },
    get hasContended() {
      return contended.length > 0
    },
    add(sending) {
      size++
      const known = lines.get(sending.channelId)
      if (known) {
        known.waiting.push(sending)
        return
      }
      const line = { channelId: sending.channelId, waiting: [sending], contended: false }
      lines.set(line.channelId, line)
      ready.push(line)
    },
    draw(limit) {
      const share = ready.length === 1 ? limit : Math.ceil(limit / 4)
      const batch: Sending[] = []
      let turns = 0
      while (turns < ready.length && batch.length < limit) {
        move(ready[turns]!, Math.min(share, limit - batch.length), batch)
        turns++
      }
      return { lines: ready.splice(0, turns), batch }
    },
    drawContended(limit) {
      const batch: Sending[] = []
      const line = contended.shift()!
      move(line, limit, batch)
      return { lines: [line], batch }
    },
    release(drawn, again) {
      if (again.length > 0) putBack(again)
      for (const line of drawn) {
        if (line.waiting.length > 0) enlist(line)
        else lines.delete(line.channelId)
      }
    },
    relent() {
      for (const line of contended) line.contended = false
      ready = ready.concat(contended)
      contended = []
    },
    retain(keep) {
      if (size === 0) return
      for (const line of lines.values()) {
        const kept = line.waiting.filter(keep)
        size -= line.waiting.length - kept.length
        line.waiting = kept
      }
    },
  }

  function putBack(again: readonly Unsettled[]) {
    for (const [channelId, own] of Map.groupBy(again, ({ sending }) => sending.channelId)) {
      const line = lines.get(channelId)!
      line.waiting.unshift(...own.map(({ sending }) => sending))
      size += own.length
      if (own.some(({ outcome }) => outcome === 'busy')) line.contended = true
    }
  }
}
