import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { invalid, notFound, PageLimit, refusals } from '@parley/contract'
import { audit, isRowId, type Reader } from '@parley/database'
import { type Cursor, findNewestPosition, requireCursor, writeCursor } from '@parley/events'
import type { Deps } from '@parley/service'
import { Type } from 'typebox'
import { accessSubscription, keepAccess } from './access-subscription.ts'
import { findPositionBefore, listDeliveries, lockSubscription } from './subscriptions.queries.ts'
import { DeliveryView, Replay, SubscriptionParams } from './subscriptions.schema.ts'

const ReplaySubscription = {
  summary: 'Send events again',
  description:
    'Sends all events after `cursor`, or since the time `since`, that are still stored. They have the same `id` as the first time. Give ' +
    'one of the two.',
  params: SubscriptionParams,
  body: Replay,
  response: {
    200: Type.Object({
      from: Type.String({ description: 'Cursor after which events are sent' }),
      events: Type.Integer({ description: 'The number of events of the whole server after the cursor' }),
    }),
    ...refusals(400, 401, 403, 404),
  },
}
const ListDeliveries = {
  summary: 'List the deliveries of an event subscription: all attempts to send an event, newest first',
  params: SubscriptionParams,
  querystring: Type.Object({
    limit: PageLimit(),
    after: Type.Optional(Type.String({ description: 'Id of the last delivery of the previous page' })),
  }),
  response: {
    200: Type.Object({ deliveries: Type.Array(DeliveryView), hasMore: Type.Boolean() }),
    ...refusals(400, 401, 403, 404),
  },
}

const maxDeliveries = 200

/** Lists the deliveries of a subscription, and replays its events. */
export const replayRoutes =
  ({ db, clock }: Deps): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.post(
      '/subscriptions/:subscriptionId/replay',
      { schema: ReplaySubscription },
      async ({ caller, ip, params, body }) => {
        const { id, botId } = await accessSubscription(db, caller, params.subscriptionId)
        return db.transaction().execute(async (trx) => {
          await keepAccess(trx, { caller, botId, now: clock() })
          const row = await lockSubscription(trx, id)
          if (!row) throw notFound('subscription')
          const newest = await findNewestPosition(trx)
          const pos = await replayFrom(trx, body, newest)
          await trx
            .updateTable('subscriptions')
            .set({
              epoch: newest.epoch,
              pos,
              generation: row.generation + 1,
              attempts: 0,
              failingSince: null,
              retryAt: null,
              updatedAt: clock(),
            })
            .where('id', '=', id)
            .execute()
          const target = { actorId: caller.userId, targetType: 'subscription', targetId: id } as const
          const from = writeCursor({ epoch: newest.epoch, pos })
          await audit(trx, { action: 'subscription.replay', ...target, metadata: { from }, ip })
          return { from, events: newest.pos - pos }
        })
      },
    )

    app.get(
      '/subscriptions/:subscriptionId/deliveries',
      { schema: ListDeliveries },
      async ({ caller, params, query }) => {
        const { id } = await accessSubscription(db, caller, params.subscriptionId)
        if (query.after !== undefined && !isRowId(query.after)) {
          throw invalid('after must be the id of a delivery of this subscription', 'invalid_cursor')
        }
        const limit = Math.min(query.limit, maxDeliveries)
        const found = await listDeliveries(db, id, query.after, limit + 1)
        const deliveries = found.slice(0, limit).map(({ subscriptionId: _, ...delivery }) => delivery)
        return { deliveries, hasMore: found.length > limit }
      },
    )
  }

/** The position after which events are sent again. @throws ApiError 400 unless exactly one of the two is given, and it is valid. */
async function replayFrom(
  db: Reader,
  { since, cursor }: { since?: number; cursor?: string },
  newest: Cursor,
): Promise<number> {
  if ((since === undefined) === (cursor === undefined)) throw invalid('Please give either since or cursor')
  return since === undefined ? requireCursor(cursor!, newest).pos : findPositionBefore(db, since)
}
