import type { Attachment } from '@parley/contract'
import type { Sending } from './sending.ts'

export interface NewMessage {
  /** As clients know it: `dm:…` for a conversation. */
  channelId: string
  content: string
  attachments: readonly Attachment[]
  images: readonly string[]
  quotedMessageId: string | null
  mentions: readonly string[]
  createdAt: number
  nonce?: string | undefined
}

/**
 * A new Message as JSON text, but for what only the database knows: it puts id, seq and author before it. Making the
 * text here, once, for the reply, the event and the stored answer spares PostgreSQL the building of JSON.
 */
export function messageTail(message: NewMessage): string {
  const { channelId, content, attachments, images, quotedMessageId, mentions, createdAt, nonce } = message
  return (
    `"channelId":"${channelId}","threadId":null,"rev":1,"content":${JSON.stringify(content)},` +
    `"attachments":${attachments.length === 0 ? '[]' : JSON.stringify(attachments)},` +
    `"images":${images.length === 0 ? '[]' : JSON.stringify(images)},` +
    `"quotedMessageId":${quotedMessageId === null ? 'null' : `"${quotedMessageId}"`},` +
    `"mentions":${mentions.length === 0 ? '[]' : JSON.stringify(mentions)},` +
    `"pinnedAt":null,"createdAt":${createdAt},"updatedAt":null,"reactions":{},"threadMeta":null${nonce === undefined ? '' : `,"nonce":${JSON.stringify(nonce)}`}}`
  )
}

/** The whole Message as JSON text: the same that the statement puts into the event. */
export const messageText = ({ id, userId, tail }: Sending, seq: number, userName: string) =>
  `{"id":"${id}","seq":${seq},"author":{"id":"${userId}","userName":${JSON.stringify(userName)}},${tail}`
