import { hash } from 'node:crypto'
import type { MessageBody } from '../messages/messages.schema.ts'

/** The same for two requests that ask for the same message; `place` tells where, and of which kind. */
export function requestHash(
  place: string,
  { content, attachments = [], images = [], quotedMessageId }: MessageBody,
): string {
  const filenames = attachments.map(({ filename }) => filename)
  return hash('sha256', JSON.stringify([place, content, filenames, images, quotedMessageId ?? null]))
}
