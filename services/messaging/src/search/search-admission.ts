import { tooMany, unavailable } from '@parley/contract'
import { createPersonCounts } from '../person-counts.ts'

export interface AdmissionOptions {
  /** Searches at once in this process; each holds a connection. */
  atOnce: number
  /** How many may wait for their turn. */
  waiting: number
  /** Searches of one person, running or waiting. */
  perPerson: number
}

interface Waiting {
  userId: string
  enter(): void
}

/**
 * Lets a few searches run at once, so that they leave connections and processors to everything else. Others wait in line; what
 * would wait too long is refused. Of the places one person has half at most, so that a slow search of theirs holds up their next
 * one and nobody else's.
 */
export function createAdmission({ atOnce, waiting, perPerson }: AdmissionOptions) {
  const mostOfOne = Math.max(1, Math.floor(atOnce / 2))
  const line = new Set<Waiting>()
  const underWay = createPersonCounts()
  const running = createPersonCounts()

  /** First come, first served, but for those who have their part already. */
  function serve() {
    for (const next of line) {
      if (running.total >= atOnce) return
      if (running.of(next.userId) >= mostOfOne) continue
      line.delete(next)
      running.add(next.userId, 1)
      next.enter()
    }
  }

  /** @throws ApiError 429 when this person has too many under way, 503 when too many wait. */
  return async function admit<T>(userId: string, search: () => Promise<T>): Promise<T> {
    if (underWay.of(userId) >= perPerson) throw tooMany('You are running too many searches at once', 1)
    if (line.size >= waiting) throw unavailable('Too many people are searching. Please try again')
    underWay.add(userId, 1)
    try {
      await new Promise<void>((enter) => {
        line.add({ userId, enter })
        serve()
      })
      return await search().finally(() => {
        running.add(userId, -1)
        serve()
      })
    } finally {
      underWay.add(userId, -1)
    }
  }
}
