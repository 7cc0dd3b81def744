/**
 * The frames one delivery has for a connection, in order: those for everybody, and between them those that only some
 * get. Connections that get the same share one sequence and so the same bytes; a step is found without comparing
 * because the frames of a delivery come one after the other.
 */
export interface Sequence {
  before: Sequence | null
  frame: Buffer | null
  /** How many of the shared frames come before `frame`. */
  sharedBefore: number
  lastStep: Sequence | null
  bytes: Buffer | null
}

/** The sequence of those who get nothing but what everybody gets. */
export const emptySequence = (): Sequence => ({
  before: null,
  frame: null,
  sharedBefore: 0,
  lastStep: null,
  bytes: null,
})

/** The sequence with one more frame at its end. */
export function followedBy(sequence: Sequence, frame: Buffer, sharedBefore: number): Sequence {
  if (sequence.lastStep?.frame !== frame) {
    sequence.lastStep = { before: sequence, frame, sharedBefore, lastStep: null, bytes: null }
  }
  return sequence.lastStep
}

/** Frames that everybody gets, joined; each part of them can be cut out without copying. */
export interface Shared {
  bytes: Buffer
  /** `ends[n]` is where frame `n` ends. */
  ends: number[]
}

export function joinShared(frames: Buffer[]): Shared {
  const ends: number[] = []
  let end = 0
  for (const frame of frames) {
    end += frame.length
    ends.push(end)
  }
  return { bytes: frames.length === 1 ? frames[0]! : Buffer.concat(frames, end), ends }
}

/** What is written to the connections of a sequence. */
export function bytesOf(sequence: Sequence, shared: Shared): Buffer {
  sequence.bytes ??= join(sequence, shared)
  return sequence.bytes
}

function join(sequence: Sequence, { bytes, ends }: Shared): Buffer {
  const startOf = (frames: number) => (frames === 0 ? 0 : ends[frames - 1]!)
  const parts: Buffer[] = []
  let until = bytes.length
  for (let step: Sequence | null = sequence; step?.frame; step = step.before) {
    const from = startOf(step.sharedBefore)
    if (from < until) parts.push(bytes.subarray(from, until))
    parts.push(step.frame)
    until = from
  }
  if (until > 0) parts.push(bytes.subarray(0, until))
  return parts.length === 1 ? parts[0]! : Buffer.concat(parts.reverse())
}
