import { setTimeout as delay } from 'node:timers/promises'
import type { PositionedEvent } from '@parley/events'
import type { Logger, Metrics } from '@parley/telemetry'
import { bytesOf, emptySequence, followedBy, joinShared, type Shared } from '../streams/frame-sequence.ts'
import { frameOf } from '../streams/frames.ts'
import type { OpenStreams } from '../streams/open-streams.ts'
import type { SleepWatch } from '../streams/sleep-watch.ts'
import type { OpenStream } from '../streams/stream.ts'
import { visitAudience, visitGuests, visitScoped } from './audience.ts'
import { createDeliveryMetrics, type Delivery, traceDeliveries } from './delivery-metrics.ts'
import type { Entitlement } from './entitlement.ts'

export interface FanOutParts {
  streams: OpenStreams
  entitlement: Entitlement
  sleep: Pick<SleepWatch, 'isAwake' | 'wake'>
  /** The epoch of the feed, and the last position that it has delivered. */
  feed: () => { epoch: string; position: number }
  clock: () => number
  logger: Logger
  metrics: Metrics
}

export type FanOut = ReturnType<typeof createFanOut>

const databaseRetryMs = 250
/** Time for writing to streams in one turn of the event loop. Between the turns the process serves requests and opens streams. */
const turnMs = 4
/** The number of streams that are written to between two readings of the clock. */
const streamsPerClockReading = 32
/** Pause between two deliveries while many clients reconnect, because opening their streams has priority. */
const surgePauseMs = 1_000

/**
 * Delivers events to the live streams. Events that arrive within one turn of the event loop are delivered together: every stream that
 * receives some of them gets one write, and streams with the same frames share the bytes.
 */
export function createFanOut({ streams, entitlement, sleep, feed, clock, logger, metrics }: FanOutParts) {
  const measured = createDeliveryMetrics(metrics, clock)
  const waiters = new Set<{ pos: number; wake: () => void }>()
  let pending: Delivery[] = []
  let preparing = 0
  let isWriting = false
  let delivered = 0
  let resets = 0
  let deliveredAt = 0

  /** Queues the next events. When rights must be read first, it returns a promise that resolves once the events are queued. */
  function receive(events: PositionedEvent[]): void | Promise<void> {
    if (events.length === 0) return
    if (pending.length === 0 && preparing === 0) delivered = events[0]!.pos - 1
    const changed = applyControls(events)
    if (changed.length === 0 && entitlement.isKnown(events)) return enqueue(events)

    preparing++
    return prepare(events, changed, resets).finally(() => preparing--)
  }

  /** Ends the streams of ended sessions, and applies changed memberships. Returns the people whose rights must be read again. */
  function applyControls(events: readonly PositionedEvent[]) {
    const changed: string[] = []
    for (const event of events) {
      const { routing } = event
      entitlement.applyMembership(event)
      if (routing.reloadGroups) entitlement.forgetGroups(routing.reloadGroups)
      if (routing.endSessions) entitlement.endSessions(routing.endSessions)
      if (routing.reloadUsers) changed.push(...routing.reloadUsers)
    }
    return changed
  }

  /**
   * Reads the rights that these events need, and then queues the events. It retries until the database answers, because delivery never
   * uses outdated rights. Later events wait too.
   */
  async function prepare(events: PositionedEvent[], changed: string[], resetsBefore: number) {
    for (let failures = 0; resetsBefore === resets; failures++) {
      try {
        if (changed.length > 0) await entitlement.reloadUsers(changed)
        await entitlement.load(events)
        if (resetsBefore === resets) enqueue(events)
        return
      } catch (error) {
        if (failures === 0) logger.warn({ err: error }, 'delivery waits for the database')
        await delay(databaseRetryMs)
      }
    }
  }

  function enqueue(events: readonly PositionedEvent[]) {
    if (pending.length === 0 && !isWriting) schedule()
    for (const event of events)
      pending.push({ event, audience: entitlement.resolveAudience(event.routing), streams: 0 })
  }

  function schedule() {
    const pauseMs = streams.isSurging() ? deliveredAt + surgePauseMs - performance.now() : 0
    if (pauseMs > 0) setTimeout(deliver, pauseMs)
    else setImmediate(deliver)
  }

  /**
   * Writes all pending events to the streams that are live now. A stream that becomes live during the writing has replayed these
   * events already. The next delivery begins when this one has ended.
   */
  function deliver() {
    if (isWriting) return
    if (!sleep.isAwake()) return void sleep.wake().then(deliver)
    const deliveries = pending
    pending = []
    if (deliveries.length === 0) return
    const endSpans = traceDeliveries(deliveries)
    const { targets, sharedBy } = assignFrames(deliveries)
    delivered = deliveries.at(-1)!.event.pos
    for (const waiter of waiters) {
      if (waiter.pos > delivered) continue
      waiters.delete(waiter)
      waiter.wake()
    }

    isWriting = true
    writeSome(0)

    function writeSome(from: number) {
      if (!sleep.isAwake()) return void sleep.wake().then(() => writeSome(from))
      const end = performance.now() + turnMs
      let index = from
      while (index < targets.length && performance.now() < end) {
        const until = Math.min(index + streamsPerClockReading, targets.length)
        for (; index < until; index++) {
          const stream = targets[index]!
          const shared = sharedBy(stream)
          const bytes = stream.sequence === null ? shared.bytes : bytesOf(stream.sequence, shared)
          stream.sequence = null
          if (stream.isLive) streams.write(stream, bytes)
        }
      }
      if (index < targets.length) return void setImmediate(writeSome, index)

      isWriting = false
      measured.recordLag(deliveries)
      endSpans()
      deliveredAt = performance.now()
      if (pending.length > 0) schedule()
      else entitlement.trim()
    }
  }

  /**
   * Decides which stream gets which frames. All streams share the frames of events for everyone. Only streams of `scope=all` share the
   * frames of public channels, so a stream of `scope=joined` that receives none of them costs nothing.
   */
  function assignFrames(deliveries: Delivery[]) {
    const { epoch } = feed()
    const unscoped = createGroup(streams.unscoped)
    const scoped = createGroup(streams.scoped)
    const ofGuests = createGroup(streams.ofGuests)
    const groupOf = ({ follower, person }: OpenStream) =>
      follower === null ? unscoped : person.role === 'guest' ? ofGuests : scoped
    const withOwnFrames: OpenStream[] = []

    for (const delivery of deliveries) {
      const { event, audience } = delivery
      if (event.event === null || audience.to === 'nobody') continue
      // The frame is made for the first stream that gets it, so events without such a stream cost almost nothing.
      const frame = () => frameOf(event, epoch)
      const addTo = (stream: OpenStream) => {
        const { root, frames } = groupOf(stream)
        if (stream.sequence === null) withOwnFrames.push(stream)
        stream.sequence = followedBy(stream.sequence ?? root, frame(), frames.length)
        delivery.streams++
      }
      if (audience.to === 'everyone') {
        delivery.streams = unscoped.share(frame) + scoped.share(frame) + ofGuests.share(frame)
      } else if (audience.to === 'members') {
        delivery.streams = unscoped.share(frame) + scoped.share(frame)
        visitGuests(audience, streams, addTo)
      } else if (audience.to === 'public') {
        delivery.streams = unscoped.share(frame)
        visitScoped(audience, streams, addTo)
      } else {
        visitAudience(audience, streams, addTo)
      }
      measured.count(delivery)
    }
    const shared = new Map([unscoped, scoped, ofGuests].map((group) => [group, joinShared(group.frames)]))
    return {
      targets: [...unscoped.plain(), ...scoped.plain(), ...ofGuests.plain(), ...withOwnFrames],
      sharedBy: (stream: OpenStream): Shared => shared.get(groupOf(stream))!,
    }
  }

  /**
   * All events up to this position were written to the live streams, or are being written. It changes only between turns of the event
   * loop.
   */
  const position = () => (pending.length > 0 || preparing > 0 ? delivered : feed().position)

  /** Resolves when the event at `pos` has been delivered, or when `signal` aborts. */
  function untilDelivered(pos: number, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const waiter = { pos, wake: resolve }
    waiters.add(waiter)
    signal.addEventListener('abort', () => waiters.delete(waiter) && resolve(), { once: true })
    return promise
  }

  /** Drops all pending events, because a new epoch begins. */
  function reset() {
    resets++
    pending = []
    for (const { wake } of waiters) wake()
    waiters.clear()
  }

  return { receive, position, untilDelivered, reset }
}

/** The streams that share frames in one delivery. */
function createGroup(members: ReadonlySet<OpenStream>) {
  const frames: Buffer[] = []
  let live = -1

  return {
    root: emptySequence(),
    frames,
    /** Adds a frame for the whole group. Returns the number of live streams in it. */
    share(frame: () => Buffer): number {
      if (live < 0) live = countLive(members)
      if (live > 0) frames.push(frame())
      return live
    },
    /** The streams that get only the shared frames. */
    plain(): OpenStream[] {
      const plain: OpenStream[] = []
      if (frames.length === 0) return plain
      for (const stream of members) if (stream.isLive && stream.sequence === null) plain.push(stream)
      return plain
    },
  }
}

function countLive(streams: ReadonlySet<OpenStream>) {
  let live = 0
  for (const { isLive } of streams) if (isLive) live++
  return live
}
