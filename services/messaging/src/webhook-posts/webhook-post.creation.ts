import { findChannel } from '@parley/access'
import { type AttemptLimit, countAttempt } from '@parley/accounts'
import { audienceOf, type Message, notFound, tooMany } from '@parley/contract'
import { type Database, once, record, type Transaction, uuidv7 } from '@parley/database'
import { findMentions } from '../mentions/mentions.ts'
import { findMessage } from '../messages/messages.queries.ts'
import { readContent } from '../messages/messages.schema.ts'
import { requestHash } from '../sending/idempotency.ts'
import { insertPost, type LiveWebhook, updateLastPostedAt } from './webhook-posts.queries.ts'

/** What a webhook may post. A program that has gone wild must not bury a channel. */
const postLimit = (perMinute: number): AttemptLimit => ({ kind: 'webhook post', most: perMinute, windowMs: 60_000 })

export interface PostRequest {
  webhook: LiveWebhook
  content: string
  /** `Idempotency-Key`; each webhook has its own. */
  key: string | undefined
  /** How often a webhook may post. */
  perMinute: number
  now: number
}

/**
 * Posts to the webhook's channel, in a transaction of its own. What is refused or repeated does not count as posted.
 * @throws ApiError 400, 404 when webhook or channel were deleted meanwhile, 409 and 429.
 */
export async function createPost(
  db: Database,
  { webhook, key, perMinute, now, ...body }: PostRequest,
): Promise<Message> {
  const content = readContent(body)
  const mentions = await findMentions(db, content)
  const place = `webhook ${webhook.id}`
  const claim = key === undefined ? null : { userId: webhook.id, key, requestHash: requestHash(place, body) }

  return db.transaction().execute((trx) =>
    once(trx, claim, now, async () => {
      await refuseTooManyPosts(trx, webhook, { perMinute, now })
      const channel = await findChannel(trx, webhook.channelId, true)
      if (!channel || !(await updateLastPostedAt(trx, webhook.id, now))) throw notFound('webhook')

      const id = uuidv7()
      await insertPost(trx, { id, channelId: channel.id, webhookId: webhook.id, content, mentions, createdAt: now })
      const message = await findMessage(trx, id)
      await record(trx, { type: 'NEW_MESSAGE', payload: message, routing: audienceOf(channel) })

      return message
    }),
  )
}

async function refuseTooManyPosts(
  trx: Transaction,
  { id }: LiveWebhook,
  { perMinute, now }: Pick<PostRequest, 'perMinute' | 'now'>,
) {
  const seconds = await countAttempt(trx, postLimit(perMinute), id, now)
  if (seconds > 0) throw tooMany('This webhook posts too often. Please slow down', seconds)
}
