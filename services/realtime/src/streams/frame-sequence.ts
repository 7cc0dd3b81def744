/** The frames that all streams of a group get, numbered in their order. */
type SharedFrames = ReturnType<typeof createSharedFrames>

export function createSharedFrames() {
  let frames: Buffer[] = []
  let first = 0

  return {
    /** The number of the next frame. */
    next: () => first + frames.length,
    add: (frame: Buffer) => void frames.push(frame),
    /** The frames from number `from` on, before number `until`. */
    between: (from: number, until: number) => frames.slice(from - first, until - first),
    /** Forgets the frames before number `until`. */
    forget(until: number) {
      frames = frames.slice(until - first)
      first = until
    },
  }
}

/**
 * The frames that wait to be written to a stream, in order: the shared frames of its group, and between them those that only some streams
 * get. Streams that wait for the same frames have the same sequence, so their bytes are joined only once. Streams get
 * their frames in the same order. So if another stream has already added a frame to the same sequence, the result is its newest extension.
 */
export interface FrameSequence {
  before: FrameSequence | null
  /** The frame after the shared ones, which only some streams get; null at the beginning of a sequence. */
  frame: Buffer | null
  /** The number of the next shared frame when `frame` was added. */
  sharedFrom: number
  newestExtension: FrameSequence | null
  /** The joined frames, which include the shared ones before number `sharedUntil`. */
  bytes: Buffer | null
  sharedUntil: number
}

/** The sequence of a stream that gets only the shared frames, from this number on. */
export const sharedSince = (sharedFrom: number): FrameSequence => createSequence(null, null, sharedFrom)

/** The sequence with one more frame at its end, after the shared frames before number `sharedFrom`. */
export function followedBy(sequence: FrameSequence, frame: Buffer, sharedFrom: number): FrameSequence {
  if (sequence.newestExtension?.frame !== frame) sequence.newestExtension = createSequence(sequence, frame, sharedFrom)
  return sequence.newestExtension
}

const createSequence = (before: FrameSequence | null, frame: Buffer | null, sharedFrom: number): FrameSequence => ({
  before,
  frame,
  sharedFrom,
  newestExtension: null,
  bytes: null,
  sharedUntil: -1,
})

/** All bytes of a sequence, with the shared frames up to now. */
export function bytesOf(sequence: FrameSequence, shared: SharedFrames): Buffer {
  const until = shared.next()
  if (sequence.bytes === null || sequence.sharedUntil !== until) {
    sequence.bytes = join(sequence, shared)
    sequence.sharedUntil = until
  }
  return sequence.bytes
}

function join(sequence: FrameSequence, shared: SharedFrames): Buffer {
  const parts: Buffer[][] = []
  let until = shared.next()
  for (let current: FrameSequence | null = sequence; current; current = current.before) {
    if (current.sharedFrom < until) parts.push(shared.between(current.sharedFrom, until))
    if (current.frame) parts.push([current.frame])
    until = current.sharedFrom
  }
  const frames = parts.reverse().flat()
  return frames.length === 1 ? frames[0]! : Buffer.concat(frames)
}
