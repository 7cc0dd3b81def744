import type { Routing } from '@parley/contract'
import { currentTraceparent, inSpan, SpanKind, spanAttribute, spanName } from '@parley/telemetry'

/** An event with its position in the order of all events. */
export interface PositionedEvent {
  pos: number
  routing: Routing
  /** JSON of a `WireEvent`; null when the event has only `Control` for the nodes. */
  event: string | null
  /** Traceparent of the span that relayed the event, if the change was traced. */
  trace: string | null
  /** When the oldest event of its batch was recorded, epoch milliseconds; absent when unknown. */
  recordedAt?: number
}

/** Events of consecutive positions as text: one line per event, `routing \t trace \t event`, empty for null. */
export interface Batch {
  first: number
  count: number
  lines: string
  /** When the oldest event was recorded, epoch milliseconds. */
  recordedAt?: number
  /** Traceparents of the spans of traced lines. They are also in the lines. */
  traces?: string[]
}

export interface Header {
  epoch: string
  first: number
  last: number
  recordedAt?: number
}

/**
 * The text of a batch in the Redis Stream and in its publication: a header line `<epoch> <first pos> <count> <recorded
 * at>`, then the lines.
 */
export const encodeBatch = (epoch: string, { first, count, lines, recordedAt }: Batch) =>
  `${epoch} ${first} ${count}${recordedAt ? ` ${recordedAt}` : ''}\n${lines}`

/** Reads the header of an encoded batch, but not its events. @throws when the text is not an encoded batch. */
export function readHeader(text: string): Header {
  const [epoch, first, count, recordedAt] = text.slice(0, text.indexOf('\n')).split(' ')
  const header: Header = { epoch: epoch ?? '', first: Number(first), last: Number(first) + Number(count) - 1 }
  if (recordedAt !== undefined) header.recordedAt = Number(recordedAt)
  if (!Number.isSafeInteger(header.last) || header.last < header.first) throw new Error('not a batch of events')
  return header
}

/** The events of an encoded batch. */
export function decodeBatch(text: string): PositionedEvent[] {
  const { first, last, recordedAt } = readHeader(text)
  return decodeLines({ first, count: last - first + 1, lines: text.slice(text.indexOf('\n') + 1), recordedAt })
}

/** The events of a batch. @throws when the number of lines differs from `count`: a batch is read whole or not at all. */
export function decodeLines({ first, count, lines, recordedAt }: Batch): PositionedEvent[] {
  const split = lines.split('\n')
  if (split.length !== count) throw new Error('the number of events in a batch differs from its header')
  return split.map((line, index) => decodeLine(line, first + index, recordedAt))
}

function decodeLine(line: string, pos: number, recordedAt?: number): PositionedEvent {
  const afterRouting = line.indexOf('\t')
  const afterTrace = line.indexOf('\t', afterRouting + 1)
  return {
    pos,
    routing: JSON.parse(line.slice(0, afterRouting)),
    trace: line.slice(afterRouting + 1, afterTrace) || null,
    event: line.slice(afterTrace + 1) || null,
    recordedAt,
  }
}

/**
 * Splits a batch into batches of about `maxChars` characters at most. Redis disconnects a subscriber when it has to
 * send too much at once.
 */
export function splitBatch(batch: Batch, maxChars: number): Batch[] {
  if (batch.lines.length <= maxChars) return [batch]

  const rest = { recordedAt: batch.recordedAt }
  const parts: Batch[] = []
  let part: string[] = []
  let chars = 0
  const close = (next: number) => {
    parts.push({ ...rest, first: next - part.length, count: part.length, lines: part.join('\n') })
    part = []
    chars = 0
  }
  const lines = batch.lines.split('\n')
  for (const [index, line] of lines.entries()) {
    if (part.length > 0 && chars + line.length > maxChars) close(batch.first + index)
    part.push(line)
    chars += line.length
  }
  close(batch.first + lines.length)
  return parts
}

/** The events of a batch after a position; undefined when there are none. */
export function batchAfter(batch: Batch, after: number): Batch | undefined {
  const known = after - batch.first + 1
  if (known <= 0) return batch
  if (known >= batch.count) return undefined
  const lines = batch.lines.split('\n').slice(known).join('\n')
  return { first: after + 1, count: batch.count - known, lines, recordedAt: batch.recordedAt }
}

/** Joins batches of consecutive positions. */
export const joinBatches = (batches: readonly Batch[]): Batch => ({
  first: batches[0]!.first,
  count: batches.reduce((sum, { count }) => sum + count, 0),
  lines: batches.map(({ lines }) => lines).join('\n'),
  recordedAt: batches[0]!.recordedAt,
})

/** Creates a span of the relay for every traced event. Its line then has the traceparent of that span. */
export function traceBatch(batch: Batch): Batch {
  const traces: string[] = []
  const lines = batch.lines.split('\n').map((line, index) => traceLine(line, batch.first + index, traces))
  return { ...batch, lines: lines.join('\n'), traces }
}

/** Calls `run` in a span whose parent is the first traced event of the batch. The other traced events are linked. */
export function inTraceOf<T>({ traces: [parent, ...links] = [], count }: Batch, run: () => T): T {
  if (!parent) return run()
  return inSpan(spanName.appendBatch, { parent, links, attributes: { [spanAttribute.batchSize]: count } }, run)
}

function traceLine(line: string, pos: number, traces: string[]): string {
  const [routing, parent, event] = line.split('\t')
  if (!parent) return line
  const attributes = { [spanAttribute.eventPosition]: pos, [spanAttribute.eventType]: event && eventTypeOf(event) }
  const trace = inSpan(spanName.relayEvent, { kind: SpanKind.PRODUCER, parent, attributes }, currentTraceparent)
  if (trace) traces.push(trace)
  return `${routing}\t${trace ?? parent}\t${event}`
}

/** The type of an event. It is the first field of the JSON, and parsing all of it would cost more than the rest of the relay. */
export const eventTypeOf = (json: string): string | undefined => /^\{\s*"type"\s*:\s*"(\w+)"/.exec(json)?.[1]
