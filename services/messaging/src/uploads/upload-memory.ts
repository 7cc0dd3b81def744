import { tooMany, unavailable } from '@parley/contract'
import { createPersonCounts } from '../person-counts.ts'

/**
 * The memory for the upload bodies of this process. JSON counts twice, for the text and the bytes, so this is enough
 * for two of the largest bodies in base64.
 */
const budgetBytes = 144 * 1024 * 1024
/** One person may use a quarter of it. A single upload may be larger. */
const personBytes = budgetBytes / 4
const personUploads = 16
/** An upload waits at most this long for memory. It must be less than the time that a gateway waits for a response. */
const longestWaitMs = 20_000
const maxWaiting = 200
/** A body that is slower than this loses its memory after some seconds, when others wait. */
const slowBytesPerSecond = 256 * 1024
const graceMs = 5_000
const checkMs = 1_000

/** The memory of one upload. */
export interface Reservation {
  /** Call it with the number of bytes of the body that have arrived. */
  received(bytes: number): void
  /** Call it when the whole body has arrived. Then the reservation is not withdrawn any more. */
  complete(): void
  /** Aborted when the body arrives too slowly while others wait. The reader then stops, and releases the memory. */
  readonly withdrawn: AbortSignal
  /** Idempotent. */
  release(): void
}

export interface UploadMemory {
  /**
   * Resolves when an upload may take this much memory.
   * @throws ApiError 429 when this person has too many uploads, 503 when too many wait already, or the wait took too
   * long.
   */
  reserve(userId: string, bytes: number): Promise<Reservation>
}

interface WaitingUpload {
  userId: string
  bytes: number
  grant(): void
}

interface ArrivingBody {
  bytesPerSecond(): number
  isNew(): boolean
  withdraw(): void
}

/**
 * Grants the memory for uploads in the order of requests, but not to people who already use their part. While an upload
 * waits for memory, the slowest body loses its reservation, one body at a time.
 */
export function createUploadMemory({
  maxTotal = budgetBytes,
  maxOfOne = personBytes,
  uploadsOfOne = personUploads,
  waitMs = longestWaitMs,
  slow = slowBytesPerSecond,
  newMs = graceMs,
  everyMs = checkMs,
} = {}): UploadMemory {
  const waiting = new Set<WaitingUpload>()
  const arriving = new Set<ArrivingBody>()
  const reservedBytes = createPersonCounts()
  const underWay = createPersonCounts()
  let timer: NodeJS.Timeout | undefined

  const fits = ({ userId, bytes }: WaitingUpload) => {
    const own = reservedBytes.of(userId)
    return reservedBytes.total + bytes <= maxTotal && (own === 0 || own + bytes <= maxOfOne)
  }

  /**
   * Grants in order: a small upload does not overtake a large one that does not fit into the budget now. Returns
   * whether an upload waits for the budget.
   */
  function grantWaiting(): boolean {
    for (const next of waiting) {
      if (fits(next)) {
        waiting.delete(next)
        next.grant()
      } else if (reservedBytes.total + next.bytes > maxTotal) return true
    }
    return false
  }

  /** Call it when an upload begins to wait, and when memory is released. */
  function serve() {
    if (grantWaiting()) {
      timer ??= setInterval(withdrawSlowest, everyMs).unref()
    } else {
      clearInterval(timer)
      timer = undefined
    }
  }

  function withdrawSlowest() {
    const [slowest] = [...arriving]
      .filter((body) => !body.isNew() && body.bytesPerSecond() < slow)
      .sort((a, b) => a.bytesPerSecond() - b.bytesPerSecond())
    slowest?.withdraw()
  }

  function createReservation(userId: string, bytes: number): Reservation {
    const withdrawal = new AbortController()
    const begun = performance.now()
    const ageMs = () => performance.now() - begun
    let receivedBytes = 0
    const body: ArrivingBody = {
      bytesPerSecond: () => (receivedBytes * 1_000) / ageMs(),
      isNew: () => ageMs() < newMs,
      withdraw() {
        arriving.delete(body)
        withdrawal.abort()
      },
    }
    arriving.add(body)
    let isReleased = false
    return {
      received(bytes) {
        receivedBytes = bytes
      },
      complete: () => void arriving.delete(body),
      withdrawn: withdrawal.signal,
      release() {
        if (isReleased) return
        isReleased = true
        arriving.delete(body)
        underWay.add(userId, -1)
        reservedBytes.add(userId, -bytes)
        serve()
      },
    }
  }

  return {
    reserve(userId, bytes) {
      return new Promise((resolve, reject) => {
        if (underWay.of(userId) >= uploadsOfOne) return reject(tooMany('You are uploading too many files at once', 5))
        if (waiting.size >= maxWaiting) return reject(busy())
        underWay.add(userId, 1)
        const timeout = setTimeout(() => {
          waiting.delete(entry)
          underWay.add(userId, -1)
          reject(busy())
        }, waitMs)
        const entry = { userId, bytes, grant }
        waiting.add(entry)
        serve()

        function grant() {
          clearTimeout(timeout)
          const reservation = createReservation(userId, bytes)
          reservedBytes.add(userId, bytes)
          resolve(reservation)
        }
      })
    },
  }
}

const busy = () => unavailable('Too many files are being uploaded right now. Please try again', 5)
