import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { findChannel } from '@parley/access'
import { type AppResponseRow, isRowId } from '@parley/database'
import { type Deps, webhookRefusal } from '@parley/service'
import { Type } from 'typebox'
import { plainText, refuseInPlainText, sendOk, takeAnyText } from '../hooks/plain-text-responses.ts'
import { readPayload } from '../hooks/read-payload.ts'
import { type AppAnswers, UnusableAnswer } from './app-answers.ts'
import { findApp, findReader, findResponse, spendResponseUse } from './apps.queries.ts'
import type { Interaction } from './call-app.ts'
import { isSecretOf, messageOfResponse } from './response-urls.ts'

const AnswerLater = {
  summary: 'Answer a command or a button later',
  description:
    'The `response_url` of a command or a click. It works five times within half an hour. Takes Slack’s payloads, with `response_type` ' +
    '(`ephemeral`, ' +
    'which is the default, or `in_channel`), `replace_original` and `delete_original`. Responds like Slack: `ok`, or 404 `expired_url`, ' +
    '`used_url`, `no_service`, 400 `invalid_payload`. An empty payload shows nothing.',
  params: Type.Object({ responseId: Type.String({ maxLength: 200 }), secret: Type.String({ maxLength: 200 }) }),
  response: { 200: plainText, 400: plainText, 404: plainText, 413: plainText, 503: plainText },
}

/** The addresses at which apps answer later (`response_url`). */
export const responseRoutes =
  ({ db, clock }: Deps, appAnswers: AppAnswers): FastifyPluginAsyncTypebox =>
  async (app) => {
    takeAnyText(app)
    refuseInPlainText(app)

    const route = { schema: AnswerLater, config: { access: 'none' } } as const
    app.post('/hooks/responses/:responseId/:secret', route, async (request, reply) => {
      const { responseId, secret } = request.params
      const response = isRowId(responseId) ? await findResponse(db, responseId) : undefined
      if (!response || !isSecretOf(response, secret)) throw webhookRefusal(404, 'no_service')
      if (response.expiresAt <= clock()) throw webhookRefusal(404, 'expired_url')
      const payload = readPayload(request.body, request.headers['content-type'] ?? '')
      const interaction = await findInteraction(response, { secret, requestId: request.id })
      if (!interaction) throw webhookRefusal(404, 'no_service')
      if (!(await spendResponseUse(db, response.id))) throw webhookRefusal(404, 'used_url')
      await appAnswers.applyAnswer(interaction, payload).catch((error) => {
        if (error instanceof UnusableAnswer) throw webhookRefusal(400, 'invalid_payload')
        throw error
      })
      return sendOk(reply)
    })

    /** Undefined when the bot, the person or the channel was removed, or when the person may no longer read the channel. */
    async function findInteraction(
      response: AppResponseRow,
      { secret, requestId }: { secret: string; requestId: string },
    ): Promise<Interaction | undefined> {
      const { botId, userId, channelId } = response
      const found = await findApp(db, botId)
      const channel = found && (await findChannel(db, channelId))
      const caller = channel && (await findReader(db, userId, channel.id, clock()))
      return caller && { app: found, channel, caller, requestId, ...messageOfResponse(response, secret) }
    }
  }
