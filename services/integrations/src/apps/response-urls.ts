import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import { type AppResponseRow, uuidv7 } from '@parley/database'
import type { Deps } from '@parley/service'
import { insertResponse } from './apps.queries.ts'
import type { Interaction } from './call-app.ts'

/** An app may answer later this many times, within this time. */
const responseUses = 5
const responseMs = 30 * 60_000

/**
 * Makes an address at which the app may answer for half an hour. Only a hash of its secret is stored. When the button was on an ephemeral
 * message, the secret begins with the time of that message, because the row does not say whether the message is ephemeral or stored.
 */
export async function createResponseUrl({ db, config, clock }: Deps, interaction: Interaction): Promise<string> {
  const id = uuidv7()
  const random = randomBytes(24).toString('base64url')
  const secret = interaction.original ? `${interaction.original.createdAt}.${random}` : random
  await insertResponse(db, {
    id,
    secretHash: hashOf(secret),
    botId: interaction.app.botId,
    userId: interaction.caller.userId,
    channelId: interaction.channel.id,
    messageId: interaction.messageId ?? interaction.original?.id ?? null,
    usesLeft: responseUses,
    expiresAt: clock() + responseMs,
  })
  return `${config.auth.appUrl}/hooks/responses/${id}/${secret}`
}

/** Whether this is the secret of the address. */
export const isSecretOf = ({ secretHash }: AppResponseRow, secret: string): boolean =>
  timingSafeEqual(secretHash, hashOf(secret))

/** The message that an answer at such an address may change: a stored one, or an ephemeral one whose time is in the secret. */
export function messageOfResponse(
  { messageId }: AppResponseRow,
  secret: string,
): Pick<Interaction, 'messageId' | 'original'> {
  if (messageId === null) return {}
  const [, createdAt] = /^(\d+)\./.exec(secret) ?? []
  return createdAt === undefined ? { messageId } : { original: { id: messageId, createdAt: Number(createdAt) } }
}

const hashOf = (secret: string): Buffer => hash('sha256', secret, 'buffer')
