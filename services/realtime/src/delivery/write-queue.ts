import { bytesOf, createSharedFrames, followedBy, sharedSince } from '../streams/frame-sequence.ts'
import { frameOf } from '../streams/frames.ts'
import type { OpenStreams } from '../streams/open-streams.ts'
import type { OpenStream } from '../streams/stream.ts'
import { visitAudience, visitGuests, visitScoped } from './audience.ts'
import type { Delivery } from './delivery-metrics.ts'

/** The number of streams that are written to between two readings of the clock. */
const streamsPerClockReading = 32
/**
 * The part of the waiting streams that is written to between two additions. An addition visits all streams, so it must not be made for
 * each event.
 */
const partBetweenAdditions = 1 / 4

/** Deliveries that are not yet written to all their streams. */
interface Addition {
  /** They are written when the first `queueEnd` streams of the queue were written to. */
  queueEnd: number
  forgetFrames: (() => void)[]
  onWritten: () => void
}

/**
 * The streams with frames to write, in the order in which they began to wait. Frames of later deliveries are added to the frames for which
 * a stream already waits, and then written together with them. So an event waits for at most one pass over the streams: it does not wait
 * for the end of a pass that was under way.
 */
export function createWriteQueue(streams: OpenStreams) {
  const unscoped = createGroup(streams.unscoped)
  const scoped = createGroup(streams.scoped)
  const ofGuests = createGroup(streams.ofGuests)
  const groups = [unscoped, scoped, ofGuests]
  const groupOf = ({ follower, person }: OpenStream) =>
    person.role === 'guest' ? ofGuests : follower === null ? unscoped : scoped

  let queue: OpenStream[] = []
  let written = 0
  let nextAddition = 0
  const additions: Addition[] = []

  /**
   * Adds events for the streams that are live now. A stream that becomes live later has replayed these events already. Calls `onWritten`
   * when they are written to all these streams.
   */
  function add(deliveries: readonly Delivery[], epoch: string, onWritten: () => void) {
    for (const group of groups) group.begin()
    for (const delivery of deliveries) addDelivery(delivery, epoch)
    for (const group of groups) group.queueMembers(queue)
    additions.push({ queueEnd: queue.length, forgetFrames: groups.map((group) => group.markFrames()), onWritten })
    nextAddition = written + (queue.length - written) * partBetweenAdditions
    completeAdditions()
  }

  /**
   * All streams share the frames of events for everyone. Only streams of `scope=all` share the frames of public channels, so a stream of
   * `scope=joined` that receives none of them costs nothing.
   */
  function addDelivery(delivery: Delivery, epoch: string) {
    const { event, audience } = delivery
    if (event.event === null || audience.to === 'nobody') return
    // The frame is made for the first stream that gets it, so events without such a stream cost almost nothing.
    const frame = () => frameOf(event, epoch)
    const addTo = (stream: OpenStream) => {
      const { shared, beginning } = groupOf(stream)
      if (stream.waiting === null) queue.push(stream)
      stream.waiting = followedBy(stream.waiting ?? beginning(), frame(), shared.next())
      delivery.streams++
    }
    if (audience.to === 'everyone') {
      delivery.streams = unscoped.share(frame) + scoped.share(frame) + ofGuests.share(frame)
    } else if (audience.to === 'notGuests') {
      delivery.streams = unscoped.share(frame) + scoped.share(frame)
      visitGuests(audience, streams, addTo)
    } else if (audience.to === 'public') {
      delivery.streams = unscoped.share(frame)
      visitScoped(audience, streams, addTo)
    } else {
      visitAudience(audience, streams, addTo)
    }
  }

  /** Writes to waiting streams for about this time, but to at least 32 of them. */
  function writeFor(milliseconds: number) {
    const end = performance.now() + milliseconds
    for (let now = 0; written < queue.length && now < end; now = performance.now()) {
      const until = Math.min(written + streamsPerClockReading, queue.length)
      while (written < until) {
        const stream = queue[written++]!
        // An ended stream is skipped: its person may have another role by now, and so the stream another group.
        if (stream.isLive) streams.write(stream, bytesOf(stream.waiting!, groupOf(stream).shared))
        stream.waiting = null
      }
    }
    completeAdditions()
  }

  function completeAdditions() {
    while (additions.length > 0 && additions[0]!.queueEnd <= written) {
      const { forgetFrames, onWritten } = additions.shift()!
      for (const forget of forgetFrames) forget()
      onWritten()
    }
    // The written part is removed when it is the larger one, so the copying costs about one move for each stream.
    if (written * 2 < queue.length) return
    queue = queue.slice(written)
    nextAddition -= written
    for (const addition of additions) addition.queueEnd -= written
    written = 0
    if (queue.length === 0) for (const group of groups) group.begin()
  }

  return {
    isEmpty: () => written === queue.length,
    /** Whether enough streams were written to since the last addition. */
    takesMore: () => written >= nextAddition,
    add,
    writeFor,
  }
}

/** The streams that share frames. */
function createGroup(members: ReadonlySet<OpenStream>) {
  const shared = createSharedFrames()
  let beginning = sharedSince(0)
  let live = -1

  return {
    shared,
    /** Begins an addition, and releases the bytes of the one before. */
    begin() {
      beginning = sharedSince(shared.next())
      live = -1
    },
    /** The frames of a stream that begins to wait in this addition. */
    beginning: () => beginning,
    /** Returns a function that forgets the frames up to now. */
    markFrames() {
      const end = shared.next()
      return () => shared.forget(end)
    },
    /** Adds a frame for the whole group. Returns the number of live streams in it. */
    share(frame: () => Buffer): number {
      if (live < 0) live = countLive(members)
      if (live > 0) shared.add(frame())
      return live
    },
    /** Lets the live streams of the group wait for the frames that were added for all of them. */
    queueMembers(queue: OpenStream[]) {
      if (shared.next() === beginning.sharedFrom) return
      for (const stream of members) {
        if (!stream.isLive || stream.waiting !== null) continue
        stream.waiting = beginning
        queue.push(stream)
      }
    },
  }
}

function countLive(streams: ReadonlySet<OpenStream>) {
  let live = 0
  for (const { isLive } of streams) if (isLive) live++
  return live
}
