import { tooMany, unavailable } from '@parley/contract'

export interface AdmissionOptions {
  /** Searches at once in this process; each holds a connection. */
  atOnce: number
  /** How many may wait for their turn. */
  waiting: number
  /** Searches of one person, running or waiting. */
  perPerson: number
}

/**
 * Lets a few searches run at once, so that they leave connections and processors to everything else. Others wait in line; what
 * would wait too long is refused.
 */
export function createAdmission({ atOnce, waiting, perPerson }: AdmissionOptions) {
  const line: (() => void)[] = []
  const ofPerson = new Map<string, number>()
  let running = 0

  /** @throws ApiError 429 when this person has too many under way, 503 when too many wait. */
  return async function admit<T>(userId: string, search: () => Promise<T>): Promise<T> {
    const mine = ofPerson.get(userId) ?? 0
    if (mine >= perPerson) throw tooMany('You have too many searches under way', 1)
    if (running >= atOnce && line.length >= waiting)
      throw unavailable('Too many people are searching, please try again')
    ofPerson.set(userId, mine + 1)
    try {
      if (running < atOnce) running++
      else await new Promise<void>((resolve) => line.push(resolve))
      return await search().finally(() => {
        // Whoever is next in line takes this place over.
        const next = line.shift()
        if (next) next()
        else running--
      })
    } finally {
      const left = ofPerson.get(userId)! - 1
      if (left === 0) ofPerson.delete(userId)
      else ofPerson.set(userId, left)
    }
  }
}
