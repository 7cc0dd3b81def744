import type { Routing } from '@parley/contract'

/** An event with its place in the one total order of events. */
export interface PositionedEvent {
  pos: number
  routing: Routing
  /** JSON of a `WireEvent`; null when the event only carries control for the nodes. */
  event: string | null
  /** Traceparent of the span that relayed it, when the change was traced. */
  trace: string | null
  /** When the oldest event of its batch was recorded, epoch milliseconds; absent when nobody knows. */
  recordedAt?: number
}

/** Consecutive positions as they travel: `lines` holds one line per event, `routing \t trace \t event`, empty for null. */
export interface Batch {
  first: number
  count: number
  lines: string
  /** When the oldest of them was recorded, epoch milliseconds. */
  recordedAt?: number
  /** Traceparents of the lines' spans, of those that were traced; does not travel, the lines have them. */
  traces?: string[]
}

export interface Header {
  epoch: string
  first: number
  last: number
  recordedAt?: number
}

/** The text of one Redis entry and of its publication: a header line `<epoch> <first pos> <count> <recorded at>`, then the lines. */
export const encodeBatch = (epoch: string, { first, count, lines, recordedAt }: Batch) =>
  `${epoch} ${first} ${count}${recordedAt ? ` ${recordedAt}` : ''}\n${lines}`

/** What an encoded batch holds, without reading its events. @throws when the text is no encoded batch. */
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

/** @throws when the number of lines is not the announced one: a batch is read whole or not at all. */
export function decodeLines({ first, count, lines, recordedAt }: Batch): PositionedEvent[] {
  const split = lines.split('\n')
  if (split.length !== count) throw new Error('a batch of events has another length than it says')
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

/** Batches of at most about `maxChars` characters with the same events: Redis cuts off subscribers who are sent too much at once. */
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

/** The part of a batch after a position: nothing (undefined), all of it, or its end. */
export function batchAfter(batch: Batch, after: number): Batch | undefined {
  const known = after - batch.first + 1
  if (known <= 0) return batch
  if (known >= batch.count) return undefined
  const lines = batch.lines.split('\n').slice(known).join('\n')
  return { first: after + 1, count: batch.count - known, lines, recordedAt: batch.recordedAt }
}

/** Joins batches that follow each other without a gap. */
export const joinBatches = (batches: readonly Batch[]): Batch => ({
  first: batches[0]!.first,
  count: batches.reduce((sum, { count }) => sum + count, 0),
  lines: batches.map(({ lines }) => lines).join('\n'),
  recordedAt: batches[0]!.recordedAt,
})
