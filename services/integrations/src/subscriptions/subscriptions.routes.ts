import { randomBytes } from 'node:crypto'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { openSigningSecret } from '@parley/accounts'
import { ApiError, forbidden, invalid, notFound, Ok, readReceiverUrl, refusals } from '@parley/contract'
import { audit, isRowId, type SubscriptionRow, uuidv7 } from '@parley/database'
import { findNewestPosition } from '@parley/events'
import type { Requester } from '@parley/requester'
import type { Deps } from '@parley/service'
import { type Static, Type } from 'typebox'
import { findApp } from '../apps/apps.queries.ts'
import { accessSubscription, keepAccess, requireBot, requireScopeToChange } from './access-subscription.ts'
import { verifyUrl } from './receiver-requests.ts'
import { listSubscriptions, lockListOf, lockSubscription } from './subscriptions.queries.ts'
import {
  NewSubscription,
  SubscriptionChanges,
  SubscriptionParams,
  SubscriptionView,
  typesIn,
} from './subscriptions.schema.ts'

const response = { 200: Type.Object({ subscription: SubscriptionView }), ...refusals(400, 401, 403, 404) }

const ListSubscriptions = {
  summary: 'List the event subscriptions of the calling bot, or all of them for an admin',
  response: { 200: Type.Object({ subscriptions: Type.Array(SubscriptionView) }), ...refusals(401, 403) },
}
const CreateSubscription = {
  summary: 'Create an event subscription: the server sends events to an address',
  description:
    'For a bot, or an admin on behalf of a bot. From now on the receiver gets the events that the bot may read, each at least once and ' +
    'in order, as ' +
    '`{id, type, payload, createdAt}`, signed according to Standard Webhooks. The secret is shown once. With `format: slack` the ' +
    'receiver gets Slack’s `event_callback`.',
  body: NewSubscription,
  response: {
    200: Type.Object({
      subscription: Type.Object({
        ...SubscriptionView.properties,
        secret: Type.Optional(
          Type.String({
            description: 'Shown once. Missing in Slack’s format: the signing secret of the bot is used there',
          }),
        ),
      }),
    }),
    ...refusals(400, 401, 403),
  },
}
const GetSubscription = { summary: 'Get one event subscription', params: SubscriptionParams, response }
const UpdateSubscription = {
  summary: 'Change, pause or continue an event subscription',
  description: 'A subscription that is continued gets the events that it missed, within `events.consumerDays`.',
  params: SubscriptionParams,
  body: SubscriptionChanges,
  response,
}
const DeleteSubscription = {
  summary: 'Delete an event subscription',
  params: SubscriptionParams,
  response: { 200: Ok, ...refusals(401, 403, 404) },
}
const maxOfBot = 50

export const subscriptionRoutes =
  ({ db, seals, clock }: Deps, requester: Requester): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.get('/subscriptions', { schema: ListSubscriptions }, async ({ caller }) => {
      const botId = caller.isAdmin ? null : await requireBot(db, caller.userId)
      return { subscriptions: (await listSubscriptions(db, botId)).map(viewOf) }
    })

    app.post('/subscriptions', { schema: CreateSubscription }, async ({ caller, ip, body }) => {
      const botId = caller.isAdmin && body.botId !== undefined ? body.botId : caller.userId
      if (body.botId !== undefined && body.botId !== botId) throw forbidden('A bot can subscribe only for itself')
      requireScopeToChange(caller, botId)
      await requireBot(db, botId)
      const { secret, ...wanted } = readNewSubscription(body)
      if (wanted.format === 'slack') await verifySlackUrl(wanted.url, botId)
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
      return { subscription: { ...viewOf(row), ...(secret !== undefined && { secret }) } }
    })

    app.get('/subscriptions/:subscriptionId', { schema: GetSubscription }, async ({ caller, params }) => ({
      subscription: viewOf(await accessSubscription(db, caller, params.subscriptionId)),
    }))

    app.put('/subscriptions/:subscriptionId', { schema: UpdateSubscription }, async ({ caller, ip, params, body }) => {
      const { id, botId, format } = await accessSubscription(db, caller, params.subscriptionId)
      requireScopeToChange(caller, botId)
      const url = body.url === undefined ? undefined : readReceiverUrl(body.url)
      if (url !== undefined && format === 'slack') await verifySlackUrl(url, botId)
      const now = clock()
      const changes = {
        ...(url !== undefined && { url }),
        ...(body.events !== undefined && { events: readEvents(format, body.events) }),
        ...(body.channelIds !== undefined && { channelIds: readChannels(body.channelIds) }),
        ...(body.isPaused !== undefined && { isPaused: body.isPaused, pauseReason: null }),
        // A subscription that somebody continues starts without failed attempts.
        ...(body.isPaused === false && { attempts: 0, failingSince: null, retryAt: null }),
      }
      const row = await db.transaction().execute(async (trx) => {
        await keepAccess(trx, { caller, botId, now })
        if (!(await lockSubscription(trx, id))) throw notFound('subscription')
        const target = { actorId: caller.userId, targetType: 'subscription', targetId: id } as const
        await audit(trx, { action: 'subscription.update', ...target, metadata: { fields: Object.keys(body) }, ip })
        return trx
          .updateTable('subscriptions')
          .set({ ...changes, updatedAt: now })
          .where('id', '=', id)
          .returningAll()
          .executeTakeFirstOrThrow()
      })
      return { subscription: viewOf(row) }
    })

    app.delete('/subscriptions/:subscriptionId', { schema: DeleteSubscription }, async ({ caller, ip, params }) => {
      const { id, botId } = await accessSubscription(db, caller, params.subscriptionId)
      const now = clock()
      await db.transaction().execute(async (trx) => {
        await keepAccess(trx, { caller, botId, now })
        if (!(await lockSubscription(trx, id))) throw notFound('subscription')
        await trx.updateTable('subscriptions').set({ deletedAt: now, updatedAt: now }).where('id', '=', id).execute()
        const target = { actorId: caller.userId, targetType: 'subscription', targetId: id } as const
        await audit(trx, { action: 'subscription.delete', ...target, ip })
      })
      return { success: true as const }
    })

    /** @throws ApiError 400 when the address does not expect Slack's events, or the bot has no signing secret. */
    const verifySlackUrl = async (url: string, botId: string) =>
      verifyUrl(requester, { url, secret: await findSigningSecret(botId) })

    /** The signing secret of a bot. @throws ApiError 400 when it has none, or one that cannot be decrypted. */
    async function findSigningSecret(botId: string): Promise<string> {
      const found = await findApp(db, botId)
      const secret = found && openSigningSecret(seals, found)
      if (secret === undefined)
        throw invalid(
          'The bot has no signing secret. An admin creates one with PUT /bots/:botId and {"signingSecret": "rotate"}',
        )
      return secret
    }
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

const viewOf = (row: SubscriptionRow) => ({
  id: row.id,
  botId: row.botId,
  url: row.url,
  format: row.format,
  events: row.events,
  channelIds: row.channelIds,
  isPaused: row.isPaused,
  pauseReason: row.pauseReason,
  cursor: `${row.epoch}.${row.pos}`,
  failingSince: row.failingSince,
  nextAttemptAt: row.retryAt,
  createdBy: row.createdBy,
  createdAt: row.createdAt,
})
