import type { Attachment } from '@parley/contract'

/** What a client asks to send, read and checked. */
export interface SendRequest {
  caller: { userId: string; sessionId: string }
  kind: 'channel' | 'conversation'
  /** Row id of the channel or conversation. */
  channelId: string
  content: string
  attachments: readonly Attachment[]
  images: readonly string[]
  quotedMessageId: string | null
  /** Already looked up. */
  mentions: readonly string[]
  nonce?: string | undefined
  /** `Idempotency-Key`, and SHA-256 of what was asked in hexadecimal digits. */
  idempotency: { key: string; requestHash: string } | null
}

/** A message on its way into the database: what the statement needs, and who waits for the answer. */
export interface Sending {
  /** Made beforehand, so that an answer that was lost can be found out. */
  readonly id: string
  /** Row id, null when what the client gave cannot be one. */
  readonly channelId: string | null
  /** Whether `channelId` is to be a conversation's. */
  readonly direct: boolean
  readonly userId: string
  readonly sessionId: string
  readonly content: string
  /** JSON text of the Message from after its author on, with the closing brace. */
  readonly tail: string
  readonly quotedMessageId: string | null
  /** JSON text. */
  readonly attachments: string | null
  /** Literals of `text[]`. */
  readonly images: string | null
  readonly mentions: string | null
  /** Epoch milliseconds. */
  readonly createdAt: number
  /** The sender's traceparent. */
  readonly trace: string | null
  /** `Idempotency-Key`, and SHA-256 of the request in hexadecimal digits. */
  readonly key: string | null
  readonly requestHash: string | null
  /** Epoch milliseconds after which nothing is tried any more. */
  readonly deadline: number
  /** Called once: with the JSON text of the Message, or with a refusal. */
  readonly resolve: (message: string) => void
  readonly reject: (error: Error) => void
}
