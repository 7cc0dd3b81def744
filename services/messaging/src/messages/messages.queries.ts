import type { Attachment, ImageSizes, Message, Reactions, ThreadMeta } from '@parley/contract'
import { type ChannelRow, isRowId, type Reader } from '@parley/database'
import { sql } from 'kysely'
import { unquotable } from './messages.schema.ts'

/**
 * Messages as clients see them; each row is a whole Message. Deleted ones are left out. The tables are called
 * `messages`, `users` (the author) and `channels`.
 */
export const selectMessages = (db: Reader) =>
  db
    .selectFrom('messages')
    .innerJoin('channels', 'channels.id', 'messages.channelId')
    .leftJoin('users', 'users.id', 'messages.authorId')
    .where('messages.deletedAt', 'is', null)
    .select([
      'messages.id',
      sql<string>`case channels.kind when 'direct' then 'dm:' || channels.id else channels.id::text end`.as(
        'channelId',
      ),
      'messages.threadId',
      'messages.seq',
      'messages.rev',
      authorOfMessage.as('author'),
      'messages.content',
      sql<Attachment[]>`coalesce(messages.attachments, '[]')`.as('attachments'),
      sql<string[]>`coalesce(messages.images, '{}')`.as('images'),
      sql<ImageSizes>`coalesce(messages.image_sizes, '{}')`.as('imageSizes'),
      'messages.quotedMessageId',
      sql<string[]>`coalesce(messages.mentions, '{}')`.as('mentions'),
      'messages.pinnedAt',
      'messages.createdAt',
      'messages.updatedAt',
      reactionsOfMessage.as('reactions'),
      threadMetaOfMessage.as('threadMeta'),
    ])

/** A look at webhooks is only taken for what a webhook posted. */
const authorOfMessage = sql<Message['author']>`case when messages.webhook_id is null
  then json_build_object('id', users.id, 'userName', users.user_name)
  else (select json_build_object('id', 'webhook:' || webhooks.id, 'userName', webhooks.name, 'isBot', true)
        from webhooks where webhooks.id = messages.webhook_id) end`

/** Reactions in the order in which each was first given, people in the order in which they gave it. */
const reactionsOfMessage = sql<Reactions>`coalesce((
  select json_object_agg(held.reaction, held.people order by held.first)
  from (
    select reaction, json_agg(user_id order by position) as people, min(position) as first
    from reactions where message_id = messages.id group by reaction
  ) held), '{}')`

/** Null without replies. Served by the primary key of threads. */
const threadMetaOfMessage = sql<ThreadMeta | null>`(
  select json_build_object('replyCount', threads.reply_count, 'lastReplyAt', threads.last_reply_at,
    'lastReplyBy', json_build_object('id', replier.id, 'userName', replier.user_name), 'participants', threads.participants)
  from threads join users replier on replier.id = threads.last_reply_by
  where threads.message_id = messages.id)`

/** One message, whole; it must exist. */
export const findMessage = (db: Reader, id: string): Promise<Message> =>
  selectMessages(db).where('messages.id', '=', id).executeTakeFirstOrThrow()

/** @throws ApiError 400 unless the message may be quoted in this channel. */
export async function requireQuotable(db: Reader, channel: ChannelRow, messageId: string): Promise<void> {
  if (!isRowId(messageId)) throw unquotable(channel)
  const message = await db
    .selectFrom('messages')
    .select('id')
    .where('id', '=', messageId)
    .where('channelId', '=', channel.id)
    .where('deletedAt', 'is', null)
    .executeTakeFirst()
  if (!message) throw unquotable(channel)
}

/** The participants of a conversation, in the order of their ids. */
export async function findParticipants(db: Reader, channelId: string): Promise<string[]> {
  const members = await db
    .selectFrom('channelMembers')
    .select('userId')
    .where('channelId', '=', channelId)
    .orderBy('userId')
    .execute()
  return members.map(({ userId }) => userId)
}
