import type { Database } from '@parley/database'
import type { PositionedEvent } from '@parley/events'
import {
  type BoundCounter,
  contextFromTraceparent,
  label,
  type Metrics,
  metric,
  type Span,
  SpanKind,
  spanAttribute,
  spanName,
  tracer,
} from '@parley/telemetry'
import { sql } from 'kysely'
import type { KnownAudience } from './entitlement.ts'

/** An event that is being delivered to the live streams. */
export interface Delivery {
  event: PositionedEvent
  audience: KnownAudience
  /** The number of streams that get the event. */
  streams: number
}

/** Counts deliveries by audience, and measures the time from the recording of an event to its delivery. */
export function createDeliveryMetrics(metrics: Metrics, clock: () => number) {
  const lag = metrics.histogram(metric.deliveryLag).with()
  const counter = metrics.counter(metric.deliveries)
  const everyone = counter.with({ [label.audience]: 'everyone' })
  const users = counter.with({ [label.audience]: 'users' })
  const channel = counter.with({ [label.audience]: 'channel' })
  const byAudience: Record<KnownAudience['to'], BoundCounter> = {
    everyone,
    notGuests: everyone,
    public: everyone,
    nobody: counter.with({ [label.audience]: 'nobody' }),
    people: users,
    joined: users,
    readers: channel,
    scoped: channel,
    outsiders: counter.with({ [label.audience]: 'outsiders' }),
  }

  return {
    /** An event that no stream gets adds 0. So the series of its audience exists from the first event on, as Prometheus advises. */
    count: ({ audience, streams }: Delivery) => byAudience[audience.to].add(streams),
    /** Records one value for each batch of the relay, so the cost does not grow with the number of events or streams. */
    recordLag(deliveries: readonly Delivery[]) {
      const now = clock()
      let last: number | undefined
      for (const { event, streams } of deliveries) {
        if (streams === 0 || event.recordedAt === undefined || event.recordedAt === last) continue
        last = event.recordedAt
        lag.record(Math.max(0, now - last) / 1_000)
      }
    },
  }
}

/** Begins a span for every traced event. The returned function adds the number of streams and ends the spans. */
export function traceDeliveries(deliveries: readonly Delivery[]): () => void {
  const open: { span: Span; delivery: Delivery }[] = []
  for (const delivery of deliveries) {
    const { pos, trace } = delivery.event
    if (trace === null) continue
    const span = tracer.startSpan(
      spanName.deliverEvent,
      { kind: SpanKind.CONSUMER, attributes: { [spanAttribute.eventPosition]: pos } },
      contextFromTraceparent(trace),
    )
    open.push({ span, delivery })
  }
  return () => {
    for (const { span, delivery } of open) span.setAttribute(spanAttribute.deliveries, delivery.streams).end()
  }
}

interface WaitingParts {
  db: Database
  metrics: Metrics
  /** All events up to this position were written to the live streams. */
  position: () => number
}

/**
 * A gauge of how long the oldest undelivered event has waited, over all streams of this node. It also works while nothing is
 * delivered. A stream does not count while it waits for its own slow client.
 */
export function observeWaiting({ db, metrics, position }: WaitingParts) {
  const reading = new Map<object, number>()
  const stop = metrics.gauge(metric.deliveryWaiting, async () => {
    const reached = Math.min(position(), ...reading.values())
    const { rows } = await sql<{ seconds: number }>`
      select greatest(now_ms() - created_at, 0) / 1000.0::float8 as seconds
      from event_positions where last_pos > ${reached} order by last_pos limit 1`.execute(db)
    return rows[0]?.seconds ?? 0
  })

  return {
    /** Runs `work`, which reads the events after `after` for a stream. Until it ends, the stream counts as waiting. */
    async whileReading<Result>(stream: object, after: number, work: () => Promise<Result>): Promise<Result> {
      reading.set(stream, after)
      try {
        return await work()
      } finally {
        reading.delete(stream)
      }
    },
    stop,
  }
}

export type Waiting = ReturnType<typeof observeWaiting>
