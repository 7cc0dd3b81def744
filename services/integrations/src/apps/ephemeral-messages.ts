import { type Author, type EphemeralMessage, invalid, type MessageBlock, onlyUsers } from '@parley/contract'
import { uuidv7 } from '@parley/database'
import type { Deps } from '@parley/service'
import { textOfBlocks } from '@parley/slack'
import type { SlackContent } from '../slack-objects/slack-content.ts'
import { blocksWithButtons } from './buttons.ts'

/** The person who gets an ephemeral message, and the channel in which they see it. */
export interface Recipient {
  userId: string
  /** As clients know it. */
  channelId: string
}

/** The fields that stay the same when an app replaces its ephemeral message. */
export type Original = Pick<EphemeralMessage, 'id' | 'createdAt'>

/** The content of a click token. Ephemeral messages are not stored, so a click sends this copy of the buttons back to the server. */
export interface ClickToken extends Recipient, Original {
  authorId: string
  /** Only the blocks with buttons. */
  blocks: MessageBlock[]
  /** Epoch milliseconds. */
  expiresAt: number
}

const tokenMs = 24 * 3_600_000
const tokenContext = 'click token'
/** Blocks have at most 60,000 bytes. Encrypted and written as base64, they are a third longer. */
export const longestClickToken = 90_000

interface Envelope {
  to: Recipient
  author: Author
  /** The message that this one replaces. */
  original?: Original
}

/** Sends a message to one person, on all their open streams. The message is not stored. */
export function sendEphemeralMessage(
  deps: Pick<Deps, 'clock' | 'publishEphemeral' | 'seals'>,
  { to, author, original }: Envelope,
  { content, blocks = [] }: SlackContent,
): EphemeralMessage {
  const now = deps.clock()
  const { id, createdAt } = original ?? { id: uuidv7(), createdAt: now }
  const clickable = blocksWithButtons(blocks)
  const token = { ...to, id, createdAt, authorId: author.id, blocks: clickable, expiresAt: now + tokenMs }
  const payload: EphemeralMessage = {
    id,
    channelId: to.channelId,
    author,
    content: content.trim() === '' ? textOfBlocks(blocks) : content,
    blocks,
    createdAt,
    updatedAt: original ? now : null,
    clickToken: clickable.length === 0 ? null : writeClickToken(deps, token),
  }
  deps.publishEphemeral({ type: 'EPHEMERAL_MESSAGE', payload, routing: onlyUsers(to.userId) })
  return payload
}

/** Replaces an ephemeral message by an empty one, so that clients remove it. */
export const removeEphemeralMessage = (
  deps: Pick<Deps, 'clock' | 'publishEphemeral' | 'seals'>,
  envelope: Required<Envelope>,
): EphemeralMessage => sendEphemeralMessage(deps, envelope, { content: '' })

const writeClickToken = ({ seals }: Pick<Deps, 'seals'>, token: ClickToken): string =>
  seals.seal(JSON.stringify(token), tokenContext)

/** @throws ApiError 400 when the token is for another person or message, when it is too old, or when this server has not written it. */
export function readClickToken(
  { seals, clock }: Pick<Deps, 'seals' | 'clock'>,
  text: string,
  clicked: { messageId: string; userId: string },
): ClickToken {
  const opened = seals.open(text, tokenContext)
  const token: ClickToken | undefined = opened === undefined ? undefined : JSON.parse(opened)
  if (token?.id !== clicked.messageId || token.userId !== clicked.userId) {
    throw invalid('clickToken does not belong to this message')
  }
  if (token.expiresAt <= clock()) throw invalid('The buttons of this message are too old to be clicked')
  return token
}
