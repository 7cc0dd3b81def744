import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { findChannel } from '@parley/access'
import { type AttemptLimit, countAttempt } from '@parley/accounts'
import {
  Id,
  IdempotencyHeaders,
  invalid,
  limits,
  Message,
  notFound,
  refusals,
  tooMany,
  unauthorized,
} from '@parley/contract'
import { type ChannelRow, isRowId, type Reader, type Transaction, uuidv7 } from '@parley/database'
import { isWebhookToken } from '@parley/identity'
import { bearerToken, type Deps, sendJsonText } from '@parley/service'
import { safeText, safeUrl } from '@parley/slack'
import type { FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import { followReply } from '../follows/reply-counts.ts'
import { findMentions } from '../mentions/mentions.ts'
import { claimOfMessage, readNewTextAndBlocks } from '../message-body.ts'
import { BlocksBody } from '../messages.schema.ts'
import { postOnce, type ShownAs, storeMessage } from '../sending/store-message.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** On the routes of webhooks: the webhook whose token the request has. */
    webhook: LiveWebhook
  }
}

interface LiveWebhook {
  id: string
  channelId: string
  tokenHash: Buffer
  secretHash: Buffer | null
}

const WebhookPost = Type.Object({
  content: Type.String({ maxLength: limits.content, description: 'May be empty only when blocks are present' }),
  blocks: Type.Optional(BlocksBody),
  userName: Type.Optional(Type.String({ maxLength: limits.webhookName, description: 'Name to show for this message' })),
  icon: Type.Optional(Type.String({ maxLength: 3_000, description: '`:name:` of an emoji, or an address' })),
  threadId: Type.Optional(
    Type.String({ description: 'A message of the channel. The new message becomes a reply to it' }),
  ),
})
type WebhookPost = Static<typeof WebhookPost>

const PostByWebhook = {
  summary: 'Post to the channel of a webhook',
  description:
    'Needs the token of the webhook, or the secret of its address, which work only here. At most `webhooks.perMinute` posts a minute. It is ' +
    'safe to repeat the request with the same `Idempotency-Key`: within 24 hours it gets the first response again.',
  security: [{ webhookToken: [] }],
  params: Type.Object({ webhookId: Id }),
  headers: IdempotencyHeaders,
  body: WebhookPost,
  response: { 200: Type.Object({ message: Message }), ...refusals(400, 401, 403, 404, 409, 429) },
}

export const webhookPostRoutes =
  (deps: Deps): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.decorateRequest('webhook', null as unknown as LiveWebhook)

    // The token is checked before the body is read, like the token of a person.
    async function onRequest(request: FastifyRequest) {
      const { webhookId } = request.params as { webhookId: string }
      const webhook = await findLiveWebhook(deps.db, webhookId)
      if (!webhook) throw notFound('webhook')
      const token = bearerToken(request)
      const { tokenHash, secretHash } = webhook
      if (!isWebhookToken(token, tokenHash) && !(secretHash && isWebhookToken(token, secretHash))) {
        throw unauthorized('The token does not belong to this webhook')
      }
      request.webhook = webhook
    }

    const route = { schema: PostByWebhook, config: { access: 'none' }, onRequest } as const
    app.post('/webhooks/:webhookId/messages', route, async ({ webhook, headers, body }, reply) => {
      const message = await createPost(deps, webhook, body, headers['idempotency-key'])
      return sendJsonText(reply, `{"message":${message}}`)
    })
  }

/**
 * Posts to the webhook's channel. Refused and repeated posts do not count. Returns the JSON text of the Message.
 * @throws ApiError 400, 404 when webhook or channel were deleted meanwhile, 409 and 429.
 */
async function createPost(
  deps: Deps,
  webhook: LiveWebhook,
  body: WebhookPost,
  key: string | undefined,
): Promise<string> {
  const { content, blocks } = readNewTextAndBlocks({
    content: body.content,
    ...(body.blocks && { blocks: body.blocks }),
  })
  const mentions = allowedMentions(await findMentions(deps.db, content, null), deps.config.webhooks)
  const shownAs = readShownAs(body)
  const now = deps.clock()
  const more = [body.userName, body.icon, body.threadId]
  const claim = claimOfMessage({ userId: webhook.id, key, where: `webhook ${webhook.id}`, more }, body)
  const response = await postOnce(deps, claim, now, async (trx) => {
    await refuseTooManyPosts(trx, webhook, deps.config.webhooks.perMinute, now)
    const channel = await findChannel(trx, webhook.channelId, { lock: true })
    if (!channel || !(await updateLastPostedAt(trx, webhook.id, now))) throw notFound('webhook')
    const message = { content, blocks, mentions, quotedMessageId: null, createdAt: now, id: uuidv7() }
    const author = { webhookId: webhook.id, shownAs }
    if (body.threadId === undefined) return storeMessage(trx, channel, { ...message, author })
    const parentId = await lockParent(trx, channel, body.threadId)
    const stored = await storeMessage(trx, channel, { ...message, author, parentId })
    await followReply(trx, channel, { parentId, seq: stored.seq, createdAt: now, authorId: null, mentions })
    return stored
  })
  if (body.threadId === undefined) return response
  // For a reply, the response also has the summary of the thread.
  const { reply } = JSON.parse(response)
  return JSON.stringify(reply)
}

/** The mentions that the settings allow. Without limits, a faulty program could notify everybody. */
function allowedMentions(mentions: string[], { mentionsEverybody, maxMentions }: Deps['config']['webhooks']): string[] {
  const isEverybody = (mention: string) => mention === '@channel' || mention === '@here'
  const people = mentions.filter((mention) => !isEverybody(mention)).slice(0, maxMentions)
  return mentions.filter((mention) => (isEverybody(mention) ? mentionsEverybody : people.includes(mention)))
}

/** Null when the webhook posts under its own name, without an icon. */
function readShownAs({ userName = '', icon = '' }: WebhookPost): ShownAs | null {
  const name = safeText(userName, limits.webhookName).replace(/\s+/g, ' ').trim()
  const picture = /^:[a-z0-9_+-]{1,64}:$/.test(icon) ? icon : safeUrl(icon)
  if (name === '' && picture === undefined) return null
  return { ...(name !== '' && { userName: name }), ...(picture !== undefined && { icon: picture }) }
}

/** Locks the parent of a reply. @throws ApiError 400 unless it is a message of this channel, and not a reply itself. */
async function lockParent(trx: Transaction, channel: ChannelRow, messageId: string): Promise<string> {
  const parent = isRowId(messageId)
    ? await trx
        .selectFrom('messages')
        .select(['id', 'threadId'])
        .where('id', '=', messageId)
        .where('channelId', '=', channel.id)
        .where('deletedAt', 'is', null)
        .forUpdate()
        .executeTakeFirst()
    : undefined
  if (!parent || parent.threadId !== null) throw invalid('threadId must be the id of a message in this channel')
  return parent.id
}

/** Limits the posts of a webhook, because a faulty program could flood its channel. */
async function refuseTooManyPosts(trx: Transaction, { id }: LiveWebhook, perMinute: number, now: number) {
  const limit: AttemptLimit = { kind: 'webhook post', most: perMinute, windowMs: 60_000 }
  const seconds = await countAttempt(trx, limit, id, now)
  if (seconds > 0) throw tooMany('This webhook posts too often. Please slow down', seconds)
}

/** A webhook that may post: neither it nor its channel was deleted. */
const findLiveWebhook = async (db: Reader, id: string): Promise<LiveWebhook | undefined> =>
  isRowId(id)
    ? db
        .selectFrom('webhooks')
        .innerJoin('channels', 'channels.id', 'webhooks.channelId')
        .select(['webhooks.id', 'webhooks.channelId', 'webhooks.tokenHash', 'webhooks.secretHash'])
        .where('webhooks.id', '=', id)
        .where('webhooks.deletedAt', 'is', null)
        .where('channels.deletedAt', 'is', null)
        .executeTakeFirst()
    : undefined

/** Stores the time of the last post of a webhook. Returns false when the webhook was deleted meanwhile. */
async function updateLastPostedAt(trx: Transaction, id: string, lastPostedAt: number): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('webhooks')
    .set({ lastPostedAt })
    .where('id', '=', id)
    .where('deletedAt', 'is', null)
    .executeTakeFirstOrThrow()
  return numUpdatedRows === 1n
}
