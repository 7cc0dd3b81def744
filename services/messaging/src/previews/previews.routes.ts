import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { accessMessage } from '@parley/access'
import { releaseUploads } from '@parley/blobs'
import { forbidden, Message, refusals } from '@parley/contract'
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
        const previews = message.previews ?? []
        const changes = { previews: '[]', rev: previews.length > 0 ? message.rev + 1 : message.rev }
        await trx.updateTable('messages').set(changes).where('id', '=', message.id).execute()
        const images = previews.flatMap(({ image }) => image?.name ?? [])
        if (images.length > 0) await releaseUploads(trx, [message.id], clock(), images)
        const updated = await findMessage(trx, message.id)
        if (previews.length > 0) await recordMessageUpdated(trx, channel, updated)
        return updated
      }),
    }))
  }
