import { randomBytes } from 'node:crypto'
import { openSigningSecret } from '@parley/accounts'
import { ApiError, forbidden, invalid, notFound, readReceiverUrl } from '@parley/contract'
import { audit, isRowId, type SubscriptionRow, uuidv7 } from '@parley/database'
import { findNewestPosition } from '@parley/events'
import type { Caller } from '@parley/identity'
import type { Requester } from '@parley/requester'
import type { Deps } from '@parley/service'
import type { Static } from 'typebox'
import { findApp } from '../apps/apps.queries.ts'
import { accessSubscription, keepAccess, requireBot, requireScopeToChange } from './access-subscription.ts'
import { verifyUrl } from './receiver-requests.ts'
import { listSubscriptions, lockListOf, lockSubscription } from './subscriptions.queries.ts'
import { type NewSubscription, type SubscriptionChanges, typesIn } from './subscriptions.schema.ts'

type ChangeDeps = Pick<Deps, 'db' | 'seals' | 'clock'> & { requester: Requester }
interface Change {
  caller: Caller
  ip: string
}

const maxOfBot = 50

/**
 * Creates a subscription for the calling bot, or for an admin on behalf of a bot. Slack's format has no `secret`. In other formats only
 * this function returns it.
 * @throws ApiError 400 when a field is refused or the bot has too many, 403 for everybody else.
 */
export async function createSubscription(
  deps: ChangeDeps,
  { caller, ip }: Change,
  body: Static<typeof NewSubscription>,
): Promise<{ row: SubscriptionRow; secret: string | undefined }> {
  const { db, seals, clock } = deps
  const botId = caller.isAdmin && body.botId !== undefined ? body.botId : caller.userId
  if (body.botId !== undefined && body.botId !== botId) throw forbidden('A bot can subscribe only for itself')
  requireScopeToChange(caller, botId)
  await requireBot(db, botId)
  const { secret, ...wanted } = readNewSubscription(body)
  if (wanted.format === 'slack') await verifySlackUrl(deps, wanted.url, botId)

  const now = clock()
  const row = await db.transaction().execute(async (trx) => {
    await lockListOf(trx, botId)
    await keepAccess(trx, { caller, botId, now })
    if ((await listSubscriptions(trx, botId)).length >= maxOfBot) throw tooManySubscriptions()
    const row = await trx
      .insertInto('subscriptions')
      .values({
        ...wanted,
        id: uuidv7(),
        botId,
        createdBy: caller.userId,
        sealedSecret: secret === undefined ? '' : seals.seal(secret),
        ...(await findNewestPosition(trx)),
        createdAt: now,
        updatedAt: now,
      })
      .returningAll()
      .executeTakeFirstOrThrow()
    const target = { actorId: caller.userId, targetType: 'subscription', targetId: row.id } as const
    await audit(trx, { action: 'subscription.create', ...target, metadata: { botId, events: row.events }, ip })
    return row
  })
  return { row, secret }
}

/**
 * Changes the given fields of a subscription, for its bot or an admin. A subscription that somebody continues, or that gets another
 * address, starts without failed attempts.
 * @throws ApiError 400 when a field is refused, 403 and 404 as `accessSubscription`.
 */
export async function changeSubscription(
  deps: ChangeDeps,
  { caller, ip }: Change,
  subscriptionId: string,
  body: Static<typeof SubscriptionChanges>,
): Promise<SubscriptionRow> {
  const { db, clock } = deps
  const { id, botId, format } = await accessSubscription(db, caller, subscriptionId)
  requireScopeToChange(caller, botId)
  const url = body.url === undefined ? undefined : readReceiverUrl(body.url)
  if (url !== undefined && format === 'slack') await verifySlackUrl(deps, url, botId)
  const changes = {
    ...(url !== undefined && { url }),
    ...(body.events !== undefined && { events: readEvents(format, body.events) }),
    ...(body.channelIds !== undefined && { channelIds: readChannels(body.channelIds) }),
    ...(body.isPaused !== undefined && { isPaused: body.isPaused, pauseReason: null }),
  }

  const now = clock()
  return db.transaction().execute(async (trx) => {
    await keepAccess(trx, { caller, botId, now })
    const before = await lockSubscription(trx, id)
    if (!before) throw notFound('subscription')
    const target = { actorId: caller.userId, targetType: 'subscription', targetId: id } as const
    await audit(trx, { action: 'subscription.update', ...target, metadata: { fields: Object.keys(body) }, ip })
    const startsAnew = body.isPaused === false || (url !== undefined && url !== before.url)
    return trx
      .updateTable('subscriptions')
      .set({
        ...changes,
        ...(startsAnew && { attempts: 0, failingSince: null, retryAt: null }),
        updatedAt: timeOfChange(now, before),
      })
      .where('id', '=', id)
      .returningAll()
      .executeTakeFirstOrThrow()
  })
}

/** Deletes a subscription, for its bot or an admin. @throws ApiError 403 and 404 as `accessSubscription`. */
export async function deleteSubscription(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  { caller, ip }: Change,
  subscriptionId: string,
): Promise<void> {
  const { id, botId } = await accessSubscription(db, caller, subscriptionId)
  const now = clock()
  await db.transaction().execute(async (trx) => {
    await keepAccess(trx, { caller, botId, now })
    const before = await lockSubscription(trx, id)
    if (!before) throw notFound('subscription')
    const updatedAt = timeOfChange(now, before)
    await trx.updateTable('subscriptions').set({ deletedAt: now, updatedAt }).where('id', '=', id).execute()
    const target = { actorId: caller.userId, targetType: 'subscription', targetId: id } as const
    await audit(trx, { action: 'subscription.delete', ...target, ip })
  })
}

/** The deliverer recognises a change by its time, so two changes in one millisecond need two times. */
const timeOfChange = (now: number, { updatedAt }: SubscriptionRow) => Math.max(now, updatedAt + 1)

/** @throws ApiError 400 when the address does not expect Slack's events, or the bot has no signing secret. */
const verifySlackUrl = async (deps: ChangeDeps, url: string, botId: string) =>
  verifyUrl(deps.requester, { url, secret: await findSigningSecret(deps, botId) })

/** The signing secret of a bot. @throws ApiError 400 when it has none, or one that cannot be decrypted. */
async function findSigningSecret({ db, seals }: ChangeDeps, botId: string): Promise<string> {
  const found = await findApp(db, botId)
  const secret = found && openSigningSecret(seals, found)
  if (secret === undefined)
    throw invalid(
      'The bot has no signing secret. An admin creates one with PUT /bots/:botId and {"signingSecret": "rotate"}',
    )
  return secret
}

/** The fields of a new subscription. In Slack's format it has no secret of its own. @throws ApiError 400 when one is refused. */
function readNewSubscription(body: Static<typeof NewSubscription>) {
  const { format = 'parley' } = body
  if (format === 'slack' && body.secret !== undefined)
    throw invalid('secret must be left out in the format slack: the signing secret of the bot is used')
  return {
    url: readReceiverUrl(body.url),
    format,
    events: readEvents(format, body.events),
    channelIds: readChannels(body.channelIds),
    secret: format === 'slack' ? undefined : readSecret(body.secret),
  }
}

/** @throws ApiError 400 for types of events that the format does not have. */
function readEvents(format: SubscriptionRow['format'], events: readonly string[]): string[] {
  const known = typesIn(format)
  const unknown = events.find((type) => !known.includes(type))
  if (unknown !== undefined) throw invalid(`events must be event types of the format ${format}: it has no ${unknown}`)
  return [...new Set(events)]
}

const tooManySubscriptions = () =>
  new ApiError(400, 'invalid_request', `A bot can have at most ${maxOfBot} subscriptions. Please delete one first`)

const secretForm = /^whsec_([A-Za-z0-9+/]+={0,2})$/

function readSecret(given: string | undefined): string {
  if (given === undefined) return `whsec_${randomBytes(32).toString('base64')}`
  const [, base64] = secretForm.exec(given) ?? []
  const bytes = Buffer.from(base64 ?? '', 'base64')
  if (bytes.length < 24 || bytes.length > 64)
    throw invalid('secret must begin with whsec_, followed by 24 to 64 bytes in base64')
  return given
}

/** @throws ApiError 400 for ids that no channel can have. Each delivery checks whether the bot may read the channel. */
function readChannels(ids: readonly string[] | undefined): string[] | null {
  if (ids === undefined || ids.length === 0) return null
  if (!ids.every(isRowId)) throw invalid('channelIds must be ids of channels')
  return [...new Set(ids)]
}
