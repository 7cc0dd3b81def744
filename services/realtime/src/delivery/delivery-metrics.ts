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

/** An event on its way to the live streams. */
export interface Delivery {
  event: PositionedEvent
  audience: KnownAudience
  /** Streams it was written to. */
  streams: number
}

/** Counts deliveries by audience and records how long they took since their event was recorded. */
export function createDeliveryMetrics(metrics: Metrics, clock: () => number) {
  const lag = metrics.histogram(metric.deliveryLag).with()
  const counter = metrics.counter(metric.deliveries)
  const everyone = counter.with({ [label.audience]: 'everyone' })
  const users = counter.with({ [label.audience]: 'users' })
  const channel = counter.with({ [label.audience]: 'channel' })
  const byAudience: Record<KnownAudience['to'], BoundCounter> = {
    everyone,
    members: everyone,
    public: everyone,
    nobody: counter.with({ [label.audience]: 'nobody' }),
    people: users,
    joined: users,
    readers: channel,
    scoped: channel,
    outsiders: counter.with({ [label.audience]: 'outsiders' }),
  }

  return {
    count: ({ audience, streams }: Delivery) => byAudience[audience.to].add(streams),
    /** Recorded once for each batch of the relay: the cost does not grow with events or streams. */
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

/** Begins a span for every traced event of a delivery; the returned function ends them with the number of streams. */
export function traceDeliveries(deliveries: readonly Delivery[]): () => void {
  const begun: { span: Span; delivery: Delivery }[] = []
  for (const delivery of deliveries) {
    const { pos, trace } = delivery.event
    if (trace === null) continue
    const span = tracer.startSpan(
      spanName.deliverEvent,
      { kind: SpanKind.CONSUMER, attributes: { [spanAttribute.eventPosition]: pos } },
      contextFromTraceparent(trace),
    )
    begun.push({ span, delivery })
  }
  return () => {
    for (const { span, delivery } of begun) span.setAttribute(spanAttribute.deliveries, delivery.streams).end()
  }
}

export interface WaitingParts {
  db: Database
  metrics: Metrics
  /** Position up to which everything was written to the live streams. */
  position: () => number
}

/**
 * Shows how long the oldest event has waited for delivery to some stream of this node. The gauge also works while nothing is
 * delivered. Streams whose own client is slow do not count.
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
    /** While `work` reads the events after a position for a stream, the gauge counts that stream as waiting. */
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
