import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { accessMessage } from '@parley/access'
import { forbidden, Message, refusals } from '@parley/contract'
import type { Deps } from '@parley/service'
import { Type } from 'typebox'
import { MessageParams } from '../messages.schema.ts'
import { removePreviews } from './preview-changes.ts'

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
