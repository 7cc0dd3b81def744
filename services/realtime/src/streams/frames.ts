import { randomInt } from 'node:crypto'
import { type Cursor, type PositionedEvent, writeCursor } from '@parley/events'
import type { FastifyReply } from 'fastify'
import type { OpenStream } from './stream.ts'

const made = new WeakMap<PositionedEvent, Buffer>()

/**
 * The bytes of an event, which are the same on every stream. They are created once: live delivery and every replay
 * share them as long as the feed keeps the event. The event's JSON is passed on without parsing.
 */
export function frameOf(event: PositionedEvent, epoch: string): Buffer {
  const known = made.get(event)
  if (known) return known
  const frame = Buffer.from(`data: ${event.event}\nid: ${writeCursor({ epoch, pos: event.pos })}\n\n`)
  made.set(event, frame)
  return frame
}

export const keepAliveFrame = Buffer.from(': keep-alive\n\n')

export const streamHeaders = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store',
  'x-accel-buffering': 'no',
}

/** The head of the response. The response ends with its connection, so frames need no chunks and are the same bytes everywhere. */
export function responseHead(reply: FastifyReply): string {
  const headers = {
    ...reply.getHeaders(),
    ...streamHeaders,
    date: new Date().toUTCString(),
    connection: 'close',
  }
  const lines = Object.entries(headers).flatMap(([name, value]) => [value].flat().map((each) => `${name}: ${each}\r\n`))
  return `HTTP/1.1 200 OK\r\n${lines.join('')}\r\n`
}

/** CONNECTED, the first event of every stream. */
export function greeting(
  { id, person }: OpenStream,
  { isResumed, cursor }: { isResumed: boolean; cursor: Cursor },
): string {
  const event = {
    type: 'CONNECTED',
    payload: {
      message: 'Connected to the event stream',
      timestamp: new Date().toISOString(),
      userId: person.userId,
      role: person.role,
      connectionId: id,
      resumed: isResumed,
    },
  }
  // The time is random, so that clients do not all reconnect at the same moment.
  return `retry: ${randomInt(1_000, 4_000)}\n\ndata: ${JSON.stringify(event)}\nid: ${writeCursor(cursor)}\n\n`
}
