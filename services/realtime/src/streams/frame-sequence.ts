/**
 * The frames of one delivery for a stream, in order: the shared frames, and between them those that only some streams
 * get. Streams that get the same frames share one sequence and therefore the same bytes. Frames are added in the order
 * of the delivery, so it is enough to compare with the last step to find the shared sequence.
 */
export interface FrameSequence {
  before: FrameSequence | null
  frame: Buffer | null
  /** How many of the shared frames come before `frame`. */
  sharedBefore: number
  lastStep: FrameSequence | null
  bytes: Buffer | null
}

/** The sequence of streams that get only the shared frames. */
export const emptySequence = (): FrameSequence => ({
  before: null,
  frame: null,
  sharedBefore: 0,
  lastStep: null,
  bytes: null,
})

/** The sequence with one more frame at its end. */
export function followedBy(sequence: FrameSequence, frame: Buffer, sharedBefore: number): FrameSequence {
  if (sequence.lastStep?.frame !== frame) {
    sequence.lastStep = { before: sequence, frame, sharedBefore, lastStep: null, bytes: null }
  }
  return sequence.lastStep
}

/** The shared frames, joined. A part of them can be used without copying. */
export interface Shared {
  bytes: Buffer
  /** `ends[n]` is the offset at which frame `n` ends. */
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

/** The bytes for the streams of a sequence. */
export function bytesOf(sequence: FrameSequence, shared: Shared): Buffer {
  sequence.bytes ??= join(sequence, shared)
  return sequence.bytes
}

function join(sequence: FrameSequence, { bytes, ends }: Shared): Buffer {
  const startOf = (frames: number) => (frames === 0 ? 0 : ends[frames - 1]!)
  const parts: Buffer[] = []
  let until = bytes.length
  for (let step: FrameSequence | null = sequence; step?.frame; step = step.before) {
    const from = startOf(step.sharedBefore)
    if (from < until) parts.push(bytes.subarray(from, until))
    parts.push(step.frame)
    until = from
  }
  if (until > 0) parts.push(bytes.subarray(0, until))
  return parts.length === 1 ? parts[0]! : Buffer.concat(parts.reverse())
}
