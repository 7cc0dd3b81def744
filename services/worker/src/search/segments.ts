/** A part of the index of search, with the messages of a period. Times are in epoch milliseconds. */
export interface Segment {
  segment: number
  /** Its messages were written at this moment or later, and before `fromAt` of the next segment. */
  fromAt: number
  firstAt: number | null
  lastAt: number | null
  size: number
}

interface Segments {
  /** The segment of one more message, written at this moment. */
  place(createdAt: number): number
  /** The new and the changed segments, in their present state. */
  changed(): Segment[]
}

/**
 * Divides time into segments of about `fullSize` messages. When a segment is full and the next message is newer than
 * all its messages, or older than all of them (while history is read backwards), a new segment begins there. A late
 * message between them is added to the full segment.
 */
export function divide(known: readonly Segment[], fullSize: number): Segments {
  const segments = known.map((each) => ({ ...each })).sort((a, b) => a.fromAt - b.fromAt)
  const changed = new Set<Segment>()
  let highest = Math.max(...segments.map(({ segment }) => segment))

  const open = (fromAt: number): Segment => ({ segment: ++highest, fromAt, firstAt: null, lastAt: null, size: 0 })

  function find(createdAt: number): Segment {
    let place = segments.length - 1
    while (place > 0 && segments[place]!.fromAt > createdAt) place--
    const found = segments[place]!
    const { firstAt, lastAt, fromAt, size } = found
    if (size < fullSize || firstAt === null || lastAt === null) return found
    if (createdAt > lastAt) {
      segments.splice(place + 1, 0, open(lastAt + 1))
      return segments[place + 1]!
    }
    if (createdAt < firstAt) {
      found.fromAt = firstAt
      changed.add(found)
      segments.splice(place, 0, open(fromAt))
      return segments[place]!
    }
    return found
  }

  return {
    place(createdAt) {
      const found = find(createdAt)
      found.firstAt = Math.min(found.firstAt ?? createdAt, createdAt)
      found.lastAt = Math.max(found.lastAt ?? createdAt, createdAt)
      found.size++
      changed.add(found)
      return found.segment
    },
    changed: () => [...changed],
  }
}
