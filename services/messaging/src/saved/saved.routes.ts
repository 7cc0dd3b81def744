import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { accessMessage } from '@parley/access'
import { Id, limits, onlyUsers, refusals, SavedState } from '@parley/contract'
import { type Database, record } from '@parley/database'
import type { Caller } from '@parley/identity'
import type { Deps } from '@parley/service'
import { Type } from 'typebox'
import { MessageParams } from '../messages.schema.ts'
import { newestMessages, readWantedPage } from '../newest-messages.ts'
import { deleteSaved, insertSaved, isSaved, listSaved, savedIds } from './saved.queries.ts'

const ListSaved = {
  summary: 'List the messages that the caller has saved, newest message first',
  description: 'Messages that the caller cannot read any more are not listed.',
  ...newestMessages,
}

const ListSavedIds = {
  summary: 'List the ids of the messages that the caller has saved, newest message first',
  description: `At most ${limits.savedIds}. With them a client marks the saved messages of a channel.`,
  response: {
    200: Type.Object({
      messageIds: Type.Array(Id),
      hasMore: Type.Boolean({ description: 'Whether the caller has saved further messages' }),
    }),
    ...refusals(401),
  },
}

const GetSaved = {
  summary: 'Say whether the caller has saved a message',
  params: MessageParams,
  response: { 200: SavedState, ...refusals(401, 403, 404) },
}

const SaveMessage = {
  summary: 'Save a message or a reply for later, or no longer',
  description: 'Only the caller sees it. The caller’s other streams get the event SAVED_UPDATE.',
  params: MessageParams,
  body: Type.Object({ isSaved: Type.Boolean() }),
  response: { 200: SavedState, ...refusals(400, 401, 403, 404) },
}

export const savedRoutes =
  ({ db }: Deps): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.get('/saved', { schema: ListSaved }, async ({ caller, query }) =>
      listSaved(db, caller, await readWantedPage(db, query)),
    )

    app.get('/saved/ids', { schema: ListSavedIds }, async ({ caller }) => {
      const ids = await savedIds(db, caller, { limit: limits.savedIds + 1 })
      return { messageIds: ids.slice(0, limits.savedIds), hasMore: ids.length > limits.savedIds }
    })

    app.get('/messages/:messageId/saved', { schema: GetSaved }, async ({ caller, params }) => {
      const { message } = await accessMessage(db, caller, params.messageId)
      return { messageId: message.id, isSaved: await isSaved(db, { userId: caller.userId, messageId: message.id }) }
    })

    app.put('/messages/:messageId/saved', { schema: SaveMessage }, ({ caller, params, body }) =>
      save(db, caller, params.messageId, body.isSaved),
    )
  }

/** Idempotent: without a change there is no event. */
const save = (db: Database, caller: Caller, messageId: string, isSaved: boolean): Promise<SavedState> =>
  db.transaction().execute(async (trx) => {
    const { message } = await accessMessage(trx, caller, messageId)
    const state = { messageId: message.id, isSaved }
    const key = { userId: caller.userId, messageId: message.id }
    const isChanged = isSaved ? await insertSaved(trx, key) : await deleteSaved(trx, key)
    if (isChanged) await record(trx, { type: 'SAVED_UPDATE', payload: state, routing: onlyUsers(caller.userId) })
    return state
  })
