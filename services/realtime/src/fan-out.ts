import { setTimeout as delay } from 'node:timers/promises'
import { isReader } from '@parley/access'
import type { PositionedEvent } from '@parley/events'
import { type BoundCounter, type Logger, label, type Metrics, metric } from '@parley/telemetry'
import type { Connection, Connections } from './connections.ts'
import type { Delivery } from './delivery.ts'
import { type Entitlement, isEntitled, type Judged } from './entitlement.ts'
import { frameOf } from './frames.ts'
import { bytesOf, emptySequence, followedBy, joinShared } from './sequence.ts'
import { traceDeliveries } from './tracing.ts'

export interface FanOutParts {
  connections: Connections
  entitlement: Entitlement
  /** The feed, as far as it has come. */
  feed: () => { epoch: string; position: number }
  clock: () => number
  logger: Logger
  metrics: Metrics
}

export type FanOut = ReturnType<typeof createFanOut>

const databaseRetryMs = 250
/** Streams that are written to in one turn of the event loop: between turns requests are answered, and streams opened. */
const streamsInATurn = 1_000
/** From one delivery to the next while clients come back all at once: opening their streams comes first. */
const stormPauseMs = 250

/**
 * Brings events to the live streams. What arrives within one turn of the event loop is delivered together: every
 * entitled connection gets one write, and connections that get the same frames share the bytes.
 */
export function createFanOut({ connections, entitlement, feed, clock, logger, metrics }: FanOutParts) {
  const count = deliveryCounters(metrics)
  const lag = metrics.histogram(metric.deliveryLag).with()
  const waiting = new Set<{ pos: number; wake: () => void }>()
  let pending: Delivery[] = []
  let preparing = 0
  let isWriting = false
  let delivered = 0
  let era = 0
  let deliveredAt = 0

  /** Takes the next events, in order. They are handed on before this returns or, when rights must be read, settles. */
  function receive(events: PositionedEvent[]): void | Promise<void> {
    if (events.length === 0) return
    if (pending.length === 0 && preparing === 0) delivered = events[0]!.pos - 1
    const promoted = applyControls(events)
    if (promoted.length === 0 && entitlement.canJudge(events)) return enqueue(events)

    preparing++
    return prepare(events, promoted, era).finally(() => preparing--)
  }

  /** Ends the streams of ended sessions; returns the people whose rights must be read anew. */
  function applyControls(events: readonly PositionedEvent[]) {
    const changed: string[] = []
    for (const { routing } of events) {
      if (routing.endSessions) entitlement.endSessions(routing.endSessions)
      if (routing.reloadUsers) changed.push(...routing.reloadUsers)
    }
    return changed
  }

  /** Nothing is delivered on rights that may be outdated: while the database is away, this and all that follows waits. */
  async function prepare(events: PositionedEvent[], changed: string[], begun: number) {
    for (let attempt = 0; begun === era; attempt++) {
      try {
        if (changed.length > 0) await entitlement.reloadUsers(changed)
        await entitlement.load(events)
        if (begun === era) enqueue(events)
        return
      } catch (error) {
        if (attempt === 0) logger.warn({ err: error }, 'delivery waits for the database')
        await delay(databaseRetryMs)
      }
    }
  }

  function enqueue(events: readonly PositionedEvent[]) {
    if (pending.length === 0 && !isWriting) schedule()
    for (const event of events) pending.push({ event, audience: entitlement.judge(event.routing), streams: 0 })
  }

  /** A delivery costs a write for each stream, and as much again for whoever carries it on. */
  function schedule() {
    const pauseMs = connections.isStormy() ? deliveredAt + stormPauseMs - performance.now() : 0
    if (pauseMs > 0) setTimeout(deliver, pauseMs)
    else setImmediate(deliver)
  }

  /**
   * Whoever is live at this moment gets all of it. Who joins before the last of them was written to has replayed it, and
   * gets what comes after: the next delivery begins when this one has ended.
   */
  function deliver() {
    if (isWriting) return
    const deliveries = pending
    pending = []
    if (deliveries.length === 0) return
    const endSpans = traceDeliveries(deliveries)
    const { everybody, apart, shared } = address(deliveries)
    delivered = deliveries.at(-1)!.event.pos
    for (const waiter of waiting) {
      if (waiter.pos > delivered) continue
      waiting.delete(waiter)
      waiter.wake()
    }

    const targets = apart.length === 0 ? everybody : everybody.concat(apart)
    isWriting = true
    writeSome(0)

    function writeSome(from: number) {
      const until = Math.min(from + streamsInATurn, targets.length)
      for (let index = from; index < until; index++) {
        const connection = targets[index]!
        const bytes = connection.sequence === null ? shared.bytes : bytesOf(connection.sequence, shared)
        connection.sequence = null
        if (connection.isLive) connections.write(connection, bytes)
      }
      if (until < targets.length) return void setImmediate(writeSome, until)

      isWriting = false
      recordLag(deliveries)
      endSpans()
      deliveredAt = performance.now()
      if (pending.length > 0) schedule()
    }
  }

  /** Finds out who gets what: those that get nothing but what everybody gets, and those that get more, or less. */
  function address(deliveries: Delivery[]) {
    const { epoch } = feed()
    const shared: Buffer[] = []
    const apart: Connection[] = []
    const root = emptySequence()
    let live = -1
    for (const delivery of deliveries) {
      const { event, audience } = delivery
      if (event.event === null || audience.to === 'nobody') continue
      const frame = frameOf(event, epoch)
      if (audience.to === 'everyone') {
        shared.push(frame)
        if (live < 0) live = countLive(connections)
        delivery.streams = live
      } else {
        visitAudience(audience, connections, (connection) => {
          if (connection.sequence === null) apart.push(connection)
          connection.sequence = followedBy(connection.sequence ?? root, frame, shared.length)
          delivery.streams++
        })
      }
      count(audience).add(delivery.streams)
    }
    const everybody: Connection[] = []
    if (shared.length > 0) {
      for (const connection of connections.all) {
        if (connection.isLive && connection.sequence === null) everybody.push(connection)
      }
    }
    return { everybody, apart, shared: joinShared(shared) }
  }

  /** Once for each batch of the relay, so that it costs nothing by event or stream. */
  function recordLag(deliveries: readonly Delivery[]) {
    const now = clock()
    let last: number | undefined
    for (const { event, streams } of deliveries) {
      if (streams === 0 || event.recordedAt === undefined || event.recordedAt === last) continue
      last = event.recordedAt
      lag.record(Math.max(0, now - last) / 1_000)
    }
  }

  /** Everything up to this position has been written to the live streams, or will be before anything else. Changes only between turns of the loop. */
  const position = () => (pending.length > 0 || preparing > 0 ? delivered : feed().position)

  /** Resolves once `pos` was delivered; `leave` gives up waiting. */
  function reached(pos: number, leave: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const waiter = { pos, wake: resolve }
    waiting.add(waiter)
    leave.addEventListener('abort', () => waiting.delete(waiter) && resolve(), { once: true })
    return promise
  }

  /** Forgets what is under way: the order of events begins anew. */
  function reset() {
    era++
    pending = []
    for (const { wake } of waiting) wake()
    waiting.clear()
  }

  return { receive, position, reached, reset }
}

/** What is done for each entitled connection that is live. */
type Visit = (connection: Connection) => void

/** By person, so that what concerns a few costs a few look-ups; only `everyone` and `outsiders` go through all streams. */
export function visitAudience(audience: Judged, { all, people, admins }: Connections, visit: Visit) {
  switch (audience.to) {
    case 'everyone':
      return visitLive(all, visit)
    case 'people':
      for (const userId of audience.userIds) visitLive(people.get(userId)?.connections, visit)
      return
    case 'readers':
      // A large channel may have far more members than are here.
      if (audience.members.size > people.size) {
        for (const person of people.values()) if (isEntitled(audience, person)) visitLive(person.connections, visit)
        return
      }
      for (const userId of audience.members) visitLive(people.get(userId)?.connections, visit)
      if (!isReader(audience.kind, { isAdmin: true, isMember: false })) return
      for (const admin of admins) if (!audience.members.has(admin.userId)) visitLive(admin.connections, visit)
      return
    case 'outsiders':
      for (const connection of all) if (connection.isLive && isEntitled(audience, connection.person)) visit(connection)
  }
}

function visitLive(connections: Iterable<Connection> = [], visit: Visit) {
  for (const connection of connections) if (connection.isLive) visit(connection)
}

function countLive({ all }: Connections) {
  let live = 0
  for (const { isLive } of all) if (isLive) live++
  return live
}

function deliveryCounters(metrics: Metrics) {
  const counter = metrics.counter(metric.deliveries)
  const bound: Record<Judged['to'], BoundCounter> = {
    everyone: counter.with({ [label.audience]: 'everyone' }),
    nobody: counter.with({ [label.audience]: 'nobody' }),
    people: counter.with({ [label.audience]: 'users' }),
    readers: counter.with({ [label.audience]: 'channel' }),
    outsiders: counter.with({ [label.audience]: 'outsiders' }),
  }
  return (audience: Judged) => bound[audience.to]
}
