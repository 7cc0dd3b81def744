import type { PositionedEvent } from './batch.format.ts'

/** The newest events in memory, without gaps, bounded in number and size. */
export interface Window {
  add(events: readonly PositionedEvent[]): void
  /** Up to `limit` events after a position, or undefined when the first of them is no longer here. */
  after(pos: number, limit: number): PositionedEvent[] | undefined
  clear(): void
}

export function createWindow(maxEvents: number, maxBytes: number): Window {
  let events: PositionedEvent[] = []
  let head = 0
  let bytes = 0

  const drop = () => {
    bytes -= sizeOf(events[head]!)
    head++
  }

  return {
    add(more) {
      for (const event of more) {
        events.push(event)
        bytes += sizeOf(event)
      }
      while (head < events.length && (events.length - head > maxEvents || bytes > maxBytes)) drop()
      // Moving the rest down is paid for by as many events dropped before.
      if (head > events.length / 2) {
        events = events.slice(head)
        head = 0
      }
    },
    after(pos, limit) {
      const first = events[head]?.pos
      if (first === undefined || pos + 1 < first) return undefined
      const from = head + pos + 1 - first
      return events.slice(from, from + limit)
    },
    clear() {
      events = []
      head = 0
      bytes = 0
    },
  }
}

/** An object with its routing, and its text twice: as it came and as it goes to the streams. */
const sizeOf = ({ event }: PositionedEvent) => 300 + 2 * (event?.length ?? 0)
