/** Counts something per person. People with none take no memory. */
export interface PersonCounts {
  of(userId: string): number
  /** Of all people together. */
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
