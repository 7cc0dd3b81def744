export interface Segment {
  segment: number
  /** Its messages were written at this moment or later, and before the next segment's. */
  fromAt: number
  firstAt: number | null
  lastAt: number | null
  size: number
}

export interface Segments {
  /** The segment of one more message, written at this moment. */
  place(createdAt: number): number
  /** Those that are new or have changed, each as it is now. */
  changed(): Segment[]
}

/**
 * Divides time so that every stretch has about `fullSize` messages. A full segment is left behind on whichever side the next
 * message lies: after its last one, or, while history is read backwards, before its first one. In between there is no other
 * place, so a message that comes late goes there all the same.
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
