import { randomBytes } from 'node:crypto'
import { readReceiverUrl } from '@parley/contract'
import { audit, type Transaction } from '@parley/database'
import type { Seals } from '@parley/identity'
import { lockBot } from './bots.ts'
import type { RequestContext } from './users.ts'

interface AppChanges {
  /** An empty text removes the address. */
  interactivityUrl?: string
  signingSecret?: 'rotate'
}

/** Reads the signing secret of a bot; undefined when it was encrypted with an `auth.jwtSecret` that is no longer configured. */
export const openSigningSecret = (seals: Seals, app: { botId: string; sealedSigningSecret: string }) =>
  seals.open(app.sealedSigningSecret, sealContextOf(app.botId))

/**
 * Makes a bot an app, which has a signing secret. Returns the secret if it is new, which is the only time that it is
 * shown. The bot must exist.
 */
export async function ensureApp(
  trx: Transaction,
  { seals, botId, now }: { seals: Seals; botId: string; now: number },
): Promise<string | undefined> {
  const secret = newSecret()
  const sealedSigningSecret = seals.seal(secret, sealContextOf(botId))
  const made = await trx
    .insertInto('apps')
    .values({ botId, sealedSigningSecret, interactivityUrl: null, createdAt: now, updatedAt: now })
    .onConflict((conflict) => conflict.doNothing())
    .returning('botId')
    .executeTakeFirst()
  return made && secret
}

/**
 * Changes the address that gets clicks on the buttons of a bot, or replaces its signing secret. Returns the secret if
 * it is new.
 * @throws ApiError 400 when the address is refused, 404 when there is no such bot, 401 and 403 as `lockAsAdmin`.
 */
export async function updateApp(
  trx: Transaction,
  { seals, botId, changes }: { seals: Seals; botId: string; changes: AppChanges },
  context: RequestContext,
): Promise<{ interactivityUrl: string | null; signingSecret?: string }> {
  const { caller, ip, now } = context
  const given = changes.interactivityUrl
  const interactivityUrl = given ? readReceiverUrl(given, 'interactivityUrl') : null
  await lockBot(trx, botId, context)
  const made = await ensureApp(trx, { seals, botId, now })
  const rotated = made === undefined && changes.signingSecret === 'rotate' ? newSecret() : undefined
  const app = await trx
    .updateTable('apps')
    .set({
      updatedAt: now,
      ...(given !== undefined && { interactivityUrl }),
      ...(rotated !== undefined && { sealedSigningSecret: seals.seal(rotated, sealContextOf(botId)) }),
    })
    .where('botId', '=', botId)
    .returning('interactivityUrl')
    .executeTakeFirstOrThrow()
  const fields = Object.entries(changes).flatMap(([name, value]) => (value === undefined ? [] : [name]))
  const target = { actorId: caller.userId, targetType: 'user', targetId: botId } as const
  await audit(trx, { action: 'bot.update', ...target, metadata: { fields }, ip })
  const signingSecret = made ?? rotated
  return { interactivityUrl: app.interactivityUrl, ...(signingSecret !== undefined && { signingSecret }) }
}

/** 32 hexadecimal digits, like a signing secret of Slack. */
const newSecret = () => randomBytes(16).toString('hex')

const sealContextOf = (botId: string) => `signing secret of ${botId}`
