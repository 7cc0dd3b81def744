/** Lets something pass once in a while, by key. */
export type Pace = (key: string, now: number) => boolean

/**
 * Once in `periodMs` for each key. Of more than `mostKeys` at a time the oldest is forgotten, which lets it pass again a
 * little early.
 */
export function createPace(periodMs: number, mostKeys = 100_000): Pace {
  /** In the order in which they passed. */
  const passedAt = new Map<string, number>()

  return (key, now) => {
    for (const [oldest, at] of passedAt) {
      if (now - at < periodMs) break
      passedAt.delete(oldest)
    }
    if (passedAt.has(key)) return false
    if (passedAt.size >= mostKeys) passedAt.delete(passedAt.keys().next().value!)
    passedAt.set(key, now)
    return true
  }
}
