/** Counts per person, for example their running searches. People with a count of 0 take no memory. */
interface PersonCounts {
  of(userId: string): number
  /** The sum of all people. */
  readonly total: number
  add(userId: string, change: number): void
}

export function createPersonCounts(): PersonCounts {
  const counts = new Map<string, number>()
  let total = 0
  return {
    of: (userId) => counts.get(userId) ?? 0,
    get total() {
      return total
    },
    add(userId, change) {
      const count = (counts.get(userId) ?? 0) + change
      if (count === 0) counts.delete(userId)
      else counts.set(userId, count)
      total += change
    },
  }
}
