import { tooMany, unavailable } from '@parley/contract'
import { createPersonCounts } from '../person-counts.ts'

interface AdmissionOptions {
  /** The maximum number of searches that run at once in this process. Each one holds a connection. */
  atOnce: number
  /** The maximum number of waiting searches. */
  waiting: number
  /** The maximum number of searches of one person, running or waiting. */
  perPerson: number
}

interface Waiting {
  userId: string
  enter(): void
}

/**
 * Limits the searches that run at once, so that connections and processors are left for other requests. Further
 * searches wait in a queue; when too many wait, more are refused. One person may use at most half of the running
 * searches, so that their slow searches delay only their own ones.
 */
export function createAdmission({ atOnce, waiting, perPerson }: AdmissionOptions) {
  const maxOfOne = Math.max(1, Math.floor(atOnce / 2))
  const queue = new Set<Waiting>()
  const underWay = createPersonCounts()
  const running = createPersonCounts()

  /** Starts waiting searches in order of arrival. It skips people who already use their share. */
  function serve() {
    for (const next of queue) {
      if (running.total >= atOnce) return
      if (running.of(next.userId) >= maxOfOne) continue
      queue.delete(next)
      running.add(next.userId, 1)
      next.enter()
    }
  }

  /** Runs the search when its turn comes. @throws ApiError 429 when this person has too many searches, 503 when too many wait. */
  return async function admit<T>(userId: string, search: () => Promise<T>): Promise<T> {
    if (underWay.of(userId) >= perPerson) throw tooMany('You are running too many searches at once', 1)
    if (queue.size >= waiting) throw unavailable('Too many people are searching. Please try again')
    underWay.add(userId, 1)
    try {
      await new Promise<void>((enter) => {
        queue.add({ userId, enter })
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
