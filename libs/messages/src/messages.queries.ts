import type { Attachment, ImageSizes, Message, MessageBlock, Preview, Reactions, ThreadMeta } from '@parley/contract'
import { anyOf, prepared, type Reader } from '@parley/database'
import { sql } from 'kysely'

/** SQL: a webhook as the author of a message, with the name that it chose for the message. */
export const webhookAuthor = (webhook: string, shownAs: string) =>
  `jsonb_build_object('id', 'webhook:' || ${webhook}.id, 'userName', ${webhook}.name, 'isBot', true)
    || case when ${shownAs} ? 'userName' then jsonb_build_object('webhookName', ${webhook}.name) else '{}' end || coalesce(${shownAs}, '{}')`

/** SQL: the author of the last reply of a thread. */
export const lastReplier = (thread: string) =>
  `coalesce(
    (select case when replier.is_bot then json_build_object('id', replier.id, 'userName', replier.user_name, 'isBot', true)
      else json_build_object('id', replier.id, 'userName', replier.user_name) end from users replier where replier.id = ${thread}.last_reply_by),
    (select json_build_object('id', 'webhook:' || replier.id, 'userName', replier.name, 'isBot', true) from webhooks replier
     where replier.id = ${thread}.last_reply_webhook))`

/**
 * Messages as clients see them. Each row is a whole Message. Deleted messages are left out. The tables in the statement
 * are `messages`, `users` (the author) and `channels`. `offset 0` keeps PostgreSQL from reading all channels for each
 * message when it has made the plan while the tables were empty.
 */
export const selectMessages = (db: Reader) =>
  db
    .selectFrom('messages')
    .innerJoinLateral(
      (from) =>
        from
          .selectFrom('channels')
          .select(['channels.id', 'channels.kind'])
          .whereRef('channels.id', '=', 'messages.channelId')
          .offset(sql.lit(0))
          .as('channels'),
      (join) => join.onTrue(),
    )
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
      sql<MessageBlock[]>`coalesce(messages.blocks, '[]')`.as('blocks'),
      sql<Attachment[]>`coalesce(messages.attachments, '[]')`.as('attachments'),
      sql<string[]>`coalesce(messages.images, '{}')`.as('images'),
      sql<ImageSizes>`coalesce(messages.image_sizes, '{}')`.as('imageSizes'),
      sql<Preview[]>`coalesce(messages.previews, '[]')`.as('previews'),
      'messages.quotedMessageId',
      sql<string[]>`coalesce(messages.mentions, '{}')`.as('mentions'),
      'messages.pinnedAt',
      'messages.createdAt',
      'messages.updatedAt',
      reactionsOfMessage.as('reactions'),
      threadMetaOfMessage.as('threadMeta'),
    ])

const personAsAuthor = (user: string) => {
  const [id, userName] = [sql.ref(`${user}.id`), sql.ref(`${user}.userName`)]
  return sql`case when ${sql.ref(`${user}.isBot`)} then json_build_object('id', ${id}, 'userName', ${userName}, 'isBot', true)
    else json_build_object('id', ${id}, 'userName', ${userName}) end`
}

/** The author of a message. It reads `webhooks` only for messages of webhooks. */
const authorOfMessage = sql<Message['author']>`case when messages.webhook_id is null
  then ${personAsAuthor('users')}
  else (select (${sql.raw(webhookAuthor('webhooks', 'messages.shown_as'))})::json from webhooks where webhooks.id = messages.webhook_id) end`

/** The reactions in the order in which each was first added, and the people in the order in which they added it. */
const reactionsOfMessage = sql<Reactions>`coalesce((
  select json_object_agg(held.reaction, held.people order by held.first)
  from (
    select reaction, json_agg(user_id order by position) as people, min(position) as first
    from reactions where message_id = messages.id group by reaction
  ) held), '{}')`

/** Null without replies. Served by the primary key of threads. */
const threadMetaOfMessage = sql<ThreadMeta | null>`(
  select json_build_object('replyCount', threads.reply_count, 'lastReplyAt', threads.last_reply_at,
    'lastReplyBy', ${sql.raw(lastReplier('threads'))}, 'participants', threads.participants)
  from threads where threads.message_id = messages.id and threads.reply_count > 0)`

/** One whole message. It must exist. */
export const findMessage = (db: Reader, id: string): Promise<Message> =>
  selectMessages(db).where('messages.id', '=', id).executeTakeFirstOrThrow()

/** The whole messages with these ids, in any order, without deleted ones. */
export const findMessages = prepared((db, { ids }: { ids: readonly string[] }) =>
  selectMessages(db).where('messages.id', '=', anyOf(ids)),
)

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
