import { currentTraceparent, inSpan, SpanKind, spanAttribute, spanName } from '@parley/telemetry'
import type { Batch } from './batch.format.ts'

/**
 * Puts a span of the relay between the request that recorded an event and the nodes that deliver it: the line goes on with
 * the span's own traceparent.
 */
export function traceBatch(batch: Batch): Batch {
  const traces: string[] = []
  const lines = batch.lines.split('\n').map((line, index) => traceLine(line, batch.first + index, traces))
  return { ...batch, lines: lines.join('\n'), traces }
}

/** What is done with a batch belongs to the first event of it that is traced, and links to the others. */
export function inTraceOf<T>({ traces: [parent, ...links] = [], count }: Batch, run: () => T): T {
  if (!parent) return run()
  return inSpan(spanName.appendBatch, { parent, links, attributes: { [spanAttribute.batchSize]: count } }, run)
}

function traceLine(line: string, pos: number, traces: string[]): string {
  const [routing, parent, event] = line.split('\t')
  if (!parent) return line
  const attributes = { [spanAttribute.eventPosition]: pos, [spanAttribute.eventType]: typeOf(event) }
  const trace = inSpan(spanName.relayEvent, { kind: SpanKind.PRODUCER, parent, attributes }, currentTraceparent)
  if (trace) traces.push(trace)
  return `${routing}\t${trace ?? parent}\t${event}`
}

/** The event's name stands at the beginning of its JSON; parsing all of it would cost more than the rest of the relay. */
const typeOf = (event: string | undefined) => event?.match(/^\{\s*"type"\s*:\s*"(\w+)"/)?.[1]
