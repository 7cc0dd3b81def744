import { randomUUID } from 'node:crypto'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { limits } from '@parley/contract'
import { isRowId } from '@parley/database'
import { type Deps, webhookRefusal } from '@parley/service'
import { Type } from 'typebox'
import { type CallService, refusalOf } from '../call-services.ts'
import { readContent, textsOf } from '../slack-objects/slack-content.ts'
import { findNamesIn } from '../slack-objects/slack-references.queries.ts'
import { findByTs } from '../slack-objects/slack-timestamps.queries.ts'
import { plainText, refuseInPlainText, sendOk, takeAnyText } from './plain-text-responses.ts'
import { readPayload } from './read-payload.ts'

const PostToHook = {
  summary: 'Post to the channel of a webhook, in the format of Slack’s incoming webhooks',
  description:
    'JSON, or a form whose field `payload` has the JSON: `text` (mrkdwn), `blocks`, `attachments`, `username`, `icon_emoji`, `icon_url`, ' +
    '`thread_ts`; `channel` and unknown fields are ignored. Responds like Slack: `ok`, or 400 `invalid_payload`, `no_text`, ' +
    '`invalid_blocks`, 403 `invalid_token`, 404 `no_service`, 429 `rate_limited` with `Retry-After`.',
  params: Type.Object({
    webhookId: Type.String({ maxLength: 200 }),
    secret: Type.String({ maxLength: 200, description: 'The last part of the address' }),
  }),
  response: {
    200: plainText,
    400: plainText,
    403: plainText,
    404: plainText,
    413: plainText,
    429: plainText,
    503: plainText,
  },
}

type Payload = Record<string, unknown>

/** The addresses of webhooks for programs that are written for Slack. */
export const hookRoutes =
  ({ db }: Deps, call: CallService): FastifyPluginAsyncTypebox =>
  async (app) => {
    takeAnyText(app)
    refuseInPlainText(app)

    app.post(
      '/hooks/:webhookId/:secret',
      { schema: PostToHook, config: { access: 'none' } },
      async (request, reply) => {
        const { webhookId, secret } = request.params
        const payload = readPayload(request.body, request.headers['content-type'] ?? '')
        const channelId = await findChannelOfHook(webhookId)
        const content = readContent(payload, await findNamesIn(db, textsOf(payload)))
        if (!content) throw webhookRefusal(400, 'no_text')
        const posted = await call({
          service: 'messaging',
          method: 'POST',
          path: `/webhooks/${webhookId}/messages`,
          token: secret,
          body: { ...content, ...(await authorAndThread(payload, channelId)) },
          idempotencyKey: randomUUID(),
          requestId: request.id,
        })
        // Messaging has no other reason for a 400 here: the texts are cut above, and the thread was found.
        if (posted.status === 400 && content.blocks) throw webhookRefusal(400, 'invalid_blocks')
        if (posted.status !== 200) throw refusalOf(posted)
        return sendOk(reply)
      },
    )

    async function findChannelOfHook(webhookId: string): Promise<string> {
      const webhook = isRowId(webhookId)
        ? await db
            .selectFrom('webhooks')
            .select('channelId')
            .where('id', '=', webhookId)
            .where('deletedAt', 'is', null)
            .executeTakeFirst()
        : undefined
      if (!webhook) throw webhookRefusal(404, 'no_service')
      return webhook.channelId
    }

    async function authorAndThread(payload: Payload, channelId: string) {
      const { username, icon_emoji: emoji, icon_url: url, thread_ts: ts } = payload
      const found = ts === undefined || ts === '' ? undefined : await findByTs(db, channelId, ts)
      const icon = typeof emoji === 'string' && emoji !== '' ? `:${emoji.replaceAll(':', '')}:` : url
      return {
        ...(typeof username === 'string' && { userName: [...username].slice(0, limits.webhookName).join('') }),
        ...(typeof icon === 'string' && { icon: icon.slice(0, 3_000) }),
        // As at Slack, a message for an unknown thread is posted to the channel.
        ...(found && { threadId: found.threadId ?? found.id }),
      }
    }
  }
