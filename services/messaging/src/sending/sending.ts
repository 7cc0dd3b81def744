import { isRowId, uuidv7 } from '@parley/database'
import { currentTraceparent } from '@parley/telemetry'
import { messageTail, type NewContent } from './new-message.ts'

/** A send as the client requested it, after all checks of its form. */
export interface SendRequest extends Omit<NewContent, 'createdAt'> {
  caller: { userId: string; sessionId: string }
  kind: 'channel' | 'conversation'
  /** Row id of the channel or conversation. */
  channelId: string
  /** The `Idempotency-Key`, and the SHA-256 hash of the request in hexadecimal digits. */
  idempotency: { key: string; requestHash: string } | null
}

/** A message in the form that the statement needs, and the functions that settle its request. */
export interface Sending {
  /** Created before the statement runs, so that the message can be found after a lost connection. */
  readonly id: string
  /** Row id. Null when the client's value has not the form of a row id. */
  readonly channelId: string | null
  /** Whether `channelId` must belong to a conversation. */
  readonly direct: boolean
  readonly userId: string
  readonly sessionId: string
  readonly content: string
  /** `messageTail` */
  readonly tail: string
  readonly quotedMessageId: string | null
  readonly mentions: readonly string[]
  /** Epoch milliseconds. */
  readonly createdAt: number
  /** The sender's traceparent. */
  readonly trace: string | null
  readonly key: string | null
  readonly requestHash: string | null
  /** The author may post without joining the public channel, because joining has failed. */
  readonly staysOutside: boolean
  /** Epoch milliseconds after which the send is not retried. */
  readonly deadline: number
  /** One of the two is called, once: with the JSON text of the Message, or with an error. */
  readonly resolve: (message: string) => void
  readonly reject: (error: Error) => void
}

type Settling = Pick<Sending, 'createdAt' | 'deadline' | 'resolve' | 'reject'>

export function toSending(request: SendRequest, settling: Settling): Sending {
  const { caller, kind, channelId, quotedMessageId, mentions, idempotency } = request
  const direct = kind === 'conversation'
  const isId = isRowId(channelId)
  // A quoted id that has not the form of a row id becomes the nil UUID, which no message has.
  const quoted = quotedMessageId === null || isRowId(quotedMessageId) ? quotedMessageId : nilId
  const tail = { ...request, channelId: direct ? `dm:${channelId}` : channelId, quotedMessageId: quoted }
  return {
    ...settling,
    id: uuidv7(),
    channelId: isId ? channelId : null,
    direct,
    userId: caller.userId,
    sessionId: caller.sessionId,
    content: request.content,
    // `messageTail` does not escape ids, so it gets only ids of the right form.
    tail: isId ? messageTail({ ...tail, createdAt: settling.createdAt }) : '',
    quotedMessageId: quoted,
    mentions,
    trace: currentTraceparent(),
    key: idempotency?.key ?? null,
    requestHash: idempotency?.requestHash ?? null,
    staysOutside: false,
  }
}

const nilId = '00000000-0000-0000-0000-000000000000'
