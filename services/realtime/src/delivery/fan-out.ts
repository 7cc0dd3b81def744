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
  /** Epoch of the feed, and the last position that it handed on. */
  feed: () => { epoch: string; position: number }
  clock: () => number
  logger: Logger
  metrics: Metrics
}

export type FanOut = ReturnType<typeof createFanOut>

const databaseRetryMs = 250
/** Time for writing to streams in one turn of the event loop. Between turns requests are answered and streams opened. */
const turnMs = 4
/** So many streams are written to before the time is looked at again. */
const streamsPerLook = 32
/** Pause between two deliveries while clients reconnect all at once: opening their streams comes first. */
const surgePauseMs = 1_000

/**
 * Delivers events to the live streams. Events that arrive within one turn of the event loop are delivered together: every
 * entitled stream gets one write, and streams that get the same frames share the bytes.
 */
export function createFanOut({ streams, entitlement, sleep, feed, clock, logger, metrics }: FanOutParts) {
  const measured = createDeliveryMetrics(metrics, clock)
  const waiting = new Set<{ pos: number; wake: () => void }>()
  let pending: Delivery[] = []
  let preparing = 0
  let isWriting = false
  let delivered = 0
  let resets = 0
  let deliveredAt = 0

  /** Queues the next events, in order. When rights must be read first, it returns a promise that settles once the events are queued. */
  function receive(events: PositionedEvent[]): void | Promise<void> {
    if (events.length === 0) return
    if (pending.length === 0 && preparing === 0) delivered = events[0]!.pos - 1
    const changed = applyControls(events)
    if (changed.length === 0 && entitlement.canJudge(events)) return enqueue(events)

    preparing++
    return prepare(events, changed, resets).finally(() => preparing--)
  }

  /** Ends the streams of ended sessions and takes over who joined and left; returns the people whose rights must be read again. */
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

  /** Delivery never uses outdated rights: while the database is away, these and all later events wait. */
  async function prepare(events: PositionedEvent[], changed: string[], begunAfter: number) {
    for (let failures = 0; begunAfter === resets; failures++) {
      try {
        if (changed.length > 0) await entitlement.reloadUsers(changed)
        await entitlement.load(events)
        if (begunAfter === resets) enqueue(events)
        return
      } catch (error) {
        if (failures === 0) logger.warn({ err: error }, 'delivery waits for the database')
        await delay(databaseRetryMs)
      }
    }
  }

  function enqueue(events: readonly PositionedEvent[]) {
    if (pending.length === 0 && !isWriting) schedule()
    for (const event of events) pending.push({ event, audience: entitlement.judge(event.routing), streams: 0 })
  }

  function schedule() {
    const pauseMs = streams.isSurging() ? deliveredAt + surgePauseMs - performance.now() : 0
    if (pauseMs > 0) setTimeout(deliver, pauseMs)
    else setImmediate(deliver)
  }

  /**
   * Writes all pending events to the streams that are live at this moment. A stream that becomes live during the writing has
   * replayed these events already. The next delivery begins only when this one has ended.
   */
  function deliver() {
    if (isWriting) return
    if (!sleep.isAwake()) return void sleep.wake().then(deliver)
    const deliveries = pending
    pending = []
    if (deliveries.length === 0) return
    const endSpans = traceDeliveries(deliveries)
    const { targets, sharedBy } = address(deliveries)
    delivered = deliveries.at(-1)!.event.pos
    for (const waiter of waiting) {
      if (waiter.pos > delivered) continue
      waiting.delete(waiter)
      waiter.wake()
    }

    isWriting = true
    writeSome(0)

    function writeSome(from: number) {
      if (!sleep.isAwake()) return void sleep.wake().then(() => writeSome(from))
      const end = performance.now() + turnMs
      let index = from
      while (index < targets.length && performance.now() < end) {
        const until = Math.min(index + streamsPerLook, targets.length)
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
   * Decides which stream gets which frames. All streams share the frames of events for everybody. Only streams of `scope=all` share
   * the frames of public channels, so a stream of `scope=joined` that gets nothing costs nothing.
   */
  function address(deliveries: Delivery[]) {
    const { epoch } = feed()
    const unscoped = createGroup(streams.unscoped)
    const scoped = createGroup(streams.scoped)
    const ofGuests = createGroup(streams.ofGuests)
    const groupOf = ({ follower, person }: OpenStream) =>
      follower === null ? unscoped : person.role === 'guest' ? ofGuests : scoped
    const apart: OpenStream[] = []

    for (const delivery of deliveries) {
      const { event, audience } = delivery
      if (event.event === null || audience.to === 'nobody') continue
      // Made for the first stream that gets it: on a node without one, events cost next to nothing.
      const frame = () => frameOf(event, epoch)
      const addTo = (stream: OpenStream) => {
        const { root, frames } = groupOf(stream)
        if (stream.sequence === null) apart.push(stream)
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
      targets: [...unscoped.plain(), ...scoped.plain(), ...ofGuests.plain(), ...apart],
      sharedBy: (stream: OpenStream): Shared => shared.get(groupOf(stream))!,
    }
  }

  /** All events up to this position are written to the live streams, or are written next. Changes only between turns of the event loop. */
  const position = () => (pending.length > 0 || preparing > 0 ? delivered : feed().position)

  /** Resolves once `pos` was delivered, or when `leave` aborts. */
  function reached(pos: number, leave: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const waiter = { pos, wake: resolve }
    waiting.add(waiter)
    leave.addEventListener('abort', () => waiting.delete(waiter) && resolve(), { once: true })
    return promise
  }

  /** Drops all pending events: the order of events begins anew. */
  function reset() {
    resets++
    pending = []
    for (const { wake } of waiting) wake()
    waiting.clear()
  }

  return { receive, position, reached, reset }
}

/** Streams that share frames in one delivery. */
function createGroup(members: ReadonlySet<OpenStream>) {
  const frames: Buffer[] = []
  let live = -1

  return {
    root: emptySequence(),
    frames,
    /** Adds a frame for all of the group; answers how many live streams that are. */
    share(frame: () => Buffer): number {
      if (live < 0) live = countLive(members)
      if (live > 0) frames.push(frame())
      return live
    },
    /** The streams that get the shared frames and nothing else. */
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
