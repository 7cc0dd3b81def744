import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Ok, refusals } from '@parley/contract'
import type { SubscriptionRow } from '@parley/database'
import { writeCursor } from '@parley/events'
import type { Requester } from '@parley/requester'
import type { Deps } from '@parley/service'
import { Type } from 'typebox'
import { accessSubscription, requireBot } from './access-subscription.ts'
import { changeSubscription, createSubscription, deleteSubscription } from './subscription-changes.ts'
import { listSubscriptions } from './subscriptions.queries.ts'
import { NewSubscription, SubscriptionChanges, SubscriptionParams, SubscriptionView } from './subscriptions.schema.ts'

const response = { 200: Type.Object({ subscription: SubscriptionView }), ...refusals(400, 401, 403, 404) }

const ListSubscriptions = {
  summary: 'List the event subscriptions of the calling bot, or all of them for an admin',
  response: { 200: Type.Object({ subscriptions: Type.Array(SubscriptionView) }), ...refusals(401, 403) },
}
const CreateSubscription = {
  summary: 'Create an event subscription: the server sends events to an address',
  description:
    'For a bot, or an admin on behalf of a bot. From now on the receiver gets the events that the bot may read, each at least once and ' +
    'in order, as `{id, type, payload, createdAt}`, signed according to Standard Webhooks. The secret is shown once. With `format: ' +
    'slack` the receiver gets Slack’s `event_callback`.',
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

export const subscriptionRoutes =
  ({ db, seals, clock }: Deps, requester: Requester): FastifyPluginAsyncTypebox =>
  async (app) => {
    const deps = { db, seals, clock, requester }

    app.get('/subscriptions', { schema: ListSubscriptions }, async ({ caller }) => {
      const botId = caller.isAdmin ? null : await requireBot(db, caller.userId)
      return { subscriptions: (await listSubscriptions(db, botId)).map(viewOf) }
    })

    app.post('/subscriptions', { schema: CreateSubscription }, async ({ caller, ip, body }) => {
      const { row, secret } = await createSubscription(deps, { caller, ip }, body)
      return { subscription: { ...viewOf(row), ...(secret !== undefined && { secret }) } }
    })

    app.get('/subscriptions/:subscriptionId', { schema: GetSubscription }, async ({ caller, params }) => ({
      subscription: viewOf(await accessSubscription(db, caller, params.subscriptionId)),
    }))

    app.put('/subscriptions/:subscriptionId', { schema: UpdateSubscription }, async ({ caller, ip, params, body }) => ({
      subscription: viewOf(await changeSubscription(deps, { caller, ip }, params.subscriptionId, body)),
    }))

    app.delete('/subscriptions/:subscriptionId', { schema: DeleteSubscription }, async ({ caller, ip, params }) => {
      await deleteSubscription(deps, { caller, ip }, params.subscriptionId)
      return { success: true as const }
    })
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
  cursor: writeCursor(row),
  failingSince: row.failingSince,
  nextAttemptAt: row.retryAt,
  createdBy: row.createdBy,
  createdAt: row.createdAt,
})
