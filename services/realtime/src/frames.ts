import type { PositionedEvent } from '@parley/events'
import { writeCursor } from './cursor.ts'

const made = new WeakMap<PositionedEvent, Buffer>()

/**
 * The bytes of an event on every stream it goes to. Made once: live delivery and each replay of the same event share
 * them for as long as the feed keeps the event. Its JSON is passed on as it came, never parsed here.
 */
export function frameOf(event: PositionedEvent, epoch: string): Buffer {
  const known = made.get(event)
  if (known) return known
  const frame = Buffer.from(`data: ${event.event}\nid: ${writeCursor({ epoch, pos: event.pos })}\n\n`)
  made.set(event, frame)
  return frame
}

export const keepAliveFrame = Buffer.from(': keep-alive\n\n')
