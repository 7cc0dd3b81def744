import { unavailable } from '@parley/contract'

/** What uploads may hold of this process's memory at once: four of the largest ones, as base64. */
const budgetBytes = 144 * 1024 * 1024
/** Of that one person may have half, so that nobody's slow connection is everybody's. */
const personBytes = budgetBytes / 2
/** Longer than this nobody waits; less than a gateway's patience. */
const patienceMs = 20_000
const mostWaiting = 200

export interface UploadMemory {
  /**
   * Resolves when an upload may take this much memory, with what gives it back; call that once or more often.
   * @throws ApiError 503 when too many wait already, or it took too long.
   */
  take(userId: string, bytes: number): Promise<() => void>
}

interface Waiting {
  userId: string
  bytes: number
  grant(): void
}

/** Shares out the memory for uploads: who comes first is served first, but for those who have their part already. */
export function createUploadMemory({
  most = budgetBytes,
  mostOfOne = personBytes,
  waitMs = patienceMs,
} = {}): UploadMemory {
  const waiting = new Set<Waiting>()
  const held = new Map<string, number>()
  let total = 0

  const fits = ({ userId, bytes }: Waiting) => {
    const own = held.get(userId) ?? 0
    return total + bytes <= most && (own === 0 || own + bytes <= mostOfOne)
  }

  function change(userId: string, bytes: number) {
    total += bytes
    const own = (held.get(userId) ?? 0) + bytes
    if (own === 0) held.delete(userId)
    else held.set(userId, own)
  }

  /** Whoever is first waits for enough, also when a smaller one would fit before it. */
  function serve() {
    for (const next of waiting) {
      if (fits(next)) {
        waiting.delete(next)
        next.grant()
      } else if (total + next.bytes > most) return
    }
  }

  return {
    take(userId, bytes) {
      return new Promise((resolve, reject) => {
        if (waiting.size >= mostWaiting) return reject(busy())
        const timer = setTimeout(() => {
          waiting.delete(entry)
          reject(busy())
        }, waitMs)
        const entry = { userId, bytes, grant }
        waiting.add(entry)
        serve()

        function grant() {
          clearTimeout(timer)
          change(userId, bytes)
          let isHeld = true
          resolve(() => {
            if (!isHeld) return
            isHeld = false
            change(userId, -bytes)
            serve()
          })
        }
      })
    },
  }
}

const busy = () => unavailable('Too many files are being uploaded right now, please try again', 5)
