import type { PresenceChange } from '@parley/presence'

interface Entry {
  order: number
  userId: string
  changedBy: number
  frame: Buffer
}

/** Some of what is to be told, as one piece. */
export interface Part {
  bytes: Buffer
  people: number
  /** Where to go on. */
  upTo: number
}

export type PresenceLog = ReturnType<typeof createPresenceLog>

/** What everybody is to be told of presence, in order; of each person only what is shown now. */
export function createPresenceLog() {
  const known = new Map<string, Entry>()
  let entries: Entry[] = []
  let head = 0

  return {
    /** The order of the newest entry. */
    get head() {
      return head
    },
    /** Changes may come again, in any order: what is known already, or older, is nothing new. */
    add(changes: readonly PresenceChange[]) {
      for (const { userId, status, lastSeen, changedBy } of changes) {
        if ((known.get(userId)?.changedBy ?? -1) >= changedBy) continue
        const event = { type: 'PRESENCE_UPDATE', payload: { userId, status, lastSeen } }
        const entry = { order: ++head, userId, changedBy, frame: Buffer.from(`data: ${JSON.stringify(event)}\n\n`) }
        known.set(userId, entry)
        entries.push(entry)
      }
    },
    /** The next `limit` people after a place in the order. */
    take(after: number, limit: number): Part {
      const frames: Buffer[] = []
      let index = firstAfter(entries, after)
      for (; index < entries.length && frames.length < limit; index++) {
        const entry = entries[index]!
        if (known.get(entry.userId) === entry) frames.push(entry.frame)
      }
      const upTo = index < entries.length ? entries[index]!.order - 1 : head
      return { bytes: Buffer.concat(frames), people: frames.length, upTo }
    },
    /** Drops what everybody was told, unless it may come again: changes of transactions from `since` on. */
    forget(toldUpTo: number, since: number) {
      const isDone = ({ order, changedBy }: Entry) => order <= toldUpTo && changedBy < since
      entries = entries.filter((entry) => {
        const isCurrent = known.get(entry.userId) === entry
        if (isCurrent && !isDone(entry)) return true
        if (isCurrent) known.delete(entry.userId)
        return false
      })
    },
  }
}

function firstAfter(entries: readonly Entry[], order: number): number {
  let [low, high] = [0, entries.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (entries[middle]!.order > order) high = middle
    else low = middle + 1
  }
  return low
}
