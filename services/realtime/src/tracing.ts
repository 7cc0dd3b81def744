import { contextFromTraceparent, type Span, SpanKind, spanAttribute, spanName, tracer } from '@parley/telemetry'
import type { Delivery } from './delivery.ts'

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
