import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type AccessedMessage, accessMessage } from '@parley/access'
import { releaseUploads } from '@parley/blobs'
import { forbidden, Message, refusals } from '@parley/contract'
import type { Transaction } from '@parley/database'
import { findMessage, recordMessageUpdated } from '@parley/messages'
import type { Deps } from '@parley/service'
import { Type } from 'typebox'
import { MessageParams } from '../messages.schema.ts'

const RemovePreviews = {
  summary: 'Remove the link previews of a message',
  description: 'For its author. The message never gets previews again, not even after an edit.',
  params: MessageParams,
  response: { 200: Type.Object({ message: Message }), ...refusals(401, 403, 404) },
}

export const previewRoutes =
  ({ db, clock }: Deps): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.delete('/messages/:messageId/previews', { schema: RemovePreviews }, async ({ caller, params }) => ({
      message: await db.transaction().execute(async (trx) => {
        const { message, channel } = await accessMessage(trx, caller, params.messageId, { lock: true })
        if (message.authorId !== caller.userId) throw forbidden('Only the author may remove previews')
        return removePreviews(trx, { message, channel }, clock())
      }),
    }))
  }

/**
 * Removes the previews for good: the worker adds none to a message whose list is empty, and not null. Records the change,
 * if there were any. The message must be locked.
 */
async function removePreviews(trx: Transaction, { message, channel }: AccessedMessage, now: number): Promise<Message> {
  const { id, rev } = message
  const previews = message.previews ?? []
  const hadAny = previews.length > 0
  const changes = { previews: '[]', rev: hadAny ? rev + 1 : rev }
  await trx.updateTable('messages').set(changes).where('id', '=', id).execute()
  const images = previews.flatMap(({ image }) => image?.name ?? [])
  if (images.length > 0) await releaseUploads(trx, [id], now, images)
  const updated = await findMessage(trx, id)
  if (hadAny) await recordMessageUpdated(trx, channel, updated)
  return updated
}
