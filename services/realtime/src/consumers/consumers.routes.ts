import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { forbidden, invalid, notFound, Ok, refusals, Timestamp } from '@parley/contract'
import type { Database } from '@parley/database'
import { findNewestPosition, requireCursor, writeCursor } from '@parley/events'
import type { Deps } from '@parley/service'
import { Type } from 'typebox'
import {
  type Consumer,
  deleteConsumer,
  isBot,
  listConsumers,
  maxConsumers,
  updateConsumer,
} from './consumers.queries.ts'

export const ConsumerName = Type.String({
  // Clients and proxies remove `.` and `..` from the path of a URL, so nobody could delete such a consumer.
  pattern: '^(?!\\.{1,2}$)[A-Za-z0-9._-]{1,64}$',
  description: 'Chosen by the bot: letters, digits, dots, dashes and underscores, at most 64, except `.` and `..`',
})
const ConsumerView = Type.Object({
  name: ConsumerName,
  cursor: Type.String({ description: 'Cursor of the last event that the bot has processed' }),
  createdAt: Timestamp,
  updatedAt: { ...Timestamp, description: 'When the bot last updated the cursor, in epoch milliseconds' },
})

const ListConsumers = {
  summary: 'List the consumers of a bot',
  description: 'A consumer is created by `GET /events?consumer=<name>`.',
  response: { 200: Type.Object({ consumers: Type.Array(ConsumerView) }), ...refusals(401, 403) },
}
const params = Type.Object({ name: ConsumerName })
const UpdateConsumer = {
  summary: 'Update the cursor of a consumer',
  description:
    'The next stream of the consumer begins after this event. A cursor never moves back. Events that the consumer has not read yet are kept for ' +
    '`events.consumerDays`.',
  params,
  body: Type.Object({ cursor: Type.String({ maxLength: 100, description: 'The `id` of the event' }) }),
  response: { 200: Type.Object({ consumer: ConsumerView }), ...refusals(400, 401, 403, 404) },
}
const DeleteConsumer = {
  summary: 'Delete a consumer',
  description: 'Its stream ends, and events are not kept for it any more.',
  params,
  response: { 200: Ok, ...refusals(400, 401, 403, 404) },
}

/** A bot's named positions in the order of events. */
export const consumerRoutes =
  ({ db, clock }: Deps): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.get('/consumers', { schema: ListConsumers }, async ({ caller }) => {
      await requireBot(db, caller.userId)
      return { consumers: (await listConsumers(db, caller.userId)).map(viewOf) }
    })

    app.put('/consumers/:name', { schema: UpdateConsumer }, async ({ caller, params: { name }, body }) => {
      await requireBot(db, caller.userId)
      const cursor = requireCursor(body.cursor, await findNewestPosition(db))
      const consumer = await updateConsumer(db, { userId: caller.userId, name }, cursor, clock())
      if (!consumer) throw notFound('consumer')
      return { consumer: viewOf(consumer) }
    })

    app.delete('/consumers/:name', { schema: DeleteConsumer }, async ({ caller, params: { name } }) => {
      await requireBot(db, caller.userId)
      if (!(await deleteConsumer(db, { userId: caller.userId, name }))) throw notFound('consumer')
      return { success: true as const }
    })
  }

/**
 * @throws ApiError 403 for people. Events that are kept for a consumer take space, and the clients of people can fetch
 * everything again.
 */
export async function requireBot(db: Database, userId: string): Promise<void> {
  if (!(await isBot(db, userId))) throw forbidden('Consumers are for bots')
}

export const tooManyConsumers = () =>
  invalid(`A bot can have at most ${maxConsumers} consumers. Please delete one first`)

const viewOf = ({ name, epoch, pos, createdAt, updatedAt }: Consumer) => ({
  name,
  cursor: writeCursor({ epoch, pos }),
  createdAt,
  updatedAt,
})
