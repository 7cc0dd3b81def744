import { tooMany, unavailable } from '@parley/contract'
import { createPersonCounts } from '../person-counts.ts'

/** What uploads may hold of this process's memory at once: four of the largest ones, as base64. */
const budgetBytes = 144 * 1024 * 1024
/** Of that one person may have a quarter, or one upload. */
const personBytes = budgetBytes / 4
const personUploads = 16
/** Longer than this nobody waits; less than a gateway's patience. */
const patienceMs = 20_000
const mostWaiting = 200
/** A body that comes more slowly than this after some seconds gives up its place when others wait for one. */
const slowBytesPerSecond = 256 * 1024
const graceMs = 5_000
const checkMs = 1_000

/** An upload's part of the memory. */
export interface Share {
  /** So many bytes of the body have come. */
  came(bytes: number): void
  /** All of it has come. */
  whole(): void
  /** Aborted when it comes too slowly and others wait: read no more, and release it. */
  readonly late: AbortSignal
  /** Gives it back; may be called again. */
  release(): void
}

export interface UploadMemory {
  /**
   * Resolves when an upload may take this much memory.
   * @throws ApiError 429 when this person has too many under way, 503 when too many wait already, or it took too long.
   */
  take(userId: string, bytes: number): Promise<Share>
}

interface Waiting {
  userId: string
  bytes: number
  grant(): void
}

interface Coming {
  bytesPerSecond(): number
  isNew(): boolean
  giveUp(): void
}

/**
 * Shares out the memory for uploads: who comes first is served first, but for those who have their part already. While somebody
 * waits, what comes slowest makes room, one at a time.
 */
export function createUploadMemory({
  most = budgetBytes,
  mostOfOne = personBytes,
  uploadsOfOne = personUploads,
  waitMs = patienceMs,
  slow = slowBytesPerSecond,
  newMs = graceMs,
  everyMs = checkMs,
} = {}): UploadMemory {
  const waiting = new Set<Waiting>()
  const coming = new Set<Coming>()
  const heldBytes = createPersonCounts()
  const underWay = createPersonCounts()
  let timer: NodeJS.Timeout | undefined

  const fits = ({ userId, bytes }: Waiting) => {
    const own = heldBytes.of(userId)
    return heldBytes.total + bytes <= most && (own === 0 || own + bytes <= mostOfOne)
  }

  /** Whoever is first waits for enough, also when a smaller one would fit before it. Answers whether somebody waits for memory. */
  function serve(): boolean {
    for (const next of waiting) {
      if (fits(next)) {
        waiting.delete(next)
        next.grant()
      } else if (heldBytes.total + next.bytes > most) return true
    }
    return false
  }

  function change(userId: string, bytes: number) {
    heldBytes.add(userId, bytes)
    if (serve()) timer ??= setInterval(makeRoom, everyMs).unref()
    else timer = void clearInterval(timer)
  }

  function makeRoom() {
    const [slowest] = [...coming]
      .filter((each) => !each.isNew() && each.bytesPerSecond() < slow)
      .sort((a, b) => a.bytesPerSecond() - b.bytesPerSecond())
    slowest?.giveUp()
  }

  function shareOf(userId: string, bytes: number): Share {
    const late = new AbortController()
    const begun = performance.now()
    const age = () => performance.now() - begun
    let here = 0
    const body: Coming = {
      bytesPerSecond: () => (here * 1_000) / age(),
      isNew: () => age() < newMs,
      giveUp() {
        coming.delete(body)
        late.abort()
      },
    }
    coming.add(body)
    let isHeld = true
    return {
      came(bytes) {
        here = bytes
      },
      whole: () => void coming.delete(body),
      late: late.signal,
      release() {
        if (!isHeld) return
        isHeld = false
        coming.delete(body)
        underWay.add(userId, -1)
        change(userId, -bytes)
      },
    }
  }

  return {
    take(userId, bytes) {
      return new Promise((resolve, reject) => {
        if (underWay.of(userId) >= uploadsOfOne) return reject(tooMany('You are uploading too many files at once', 5))
        if (waiting.size >= mostWaiting) return reject(busy())
        underWay.add(userId, 1)
        const patience = setTimeout(() => {
          waiting.delete(entry)
          underWay.add(userId, -1)
          reject(busy())
        }, waitMs)
        const entry = { userId, bytes, grant }
        waiting.add(entry)
        change(userId, 0)

        function grant() {
          clearTimeout(patience)
          const share = shareOf(userId, bytes)
          change(userId, bytes)
          resolve(share)
        }
      })
    },
  }
}

const busy = () => unavailable('Too many files are being uploaded right now. Please try again', 5)
