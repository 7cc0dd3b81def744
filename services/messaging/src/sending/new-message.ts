import { wireChannelId } from '@parley/access'
import type { Attachment, ImageSizes, MessageBlock } from '@parley/contract'
import { type ChannelRow, type Connection, once, type RequestKey, type Transaction } from '@parley/database'
import { webhookAuthor } from '@parley/messages'
import { foldEvery, foldReads } from '@parley/read-states'
import type { Deps } from '@parley/service'
import { currentTraceparent } from '@parley/telemetry'
import { sql } from 'kysely'
import { mayHaveLinks } from '../previews/link-jobs.ts'
import { storedSizes } from '../uploads/message-uploads.ts'

/*
 * This file writes every message: its row, its event, its JSON, and the work after the commit. The shared statement
 * (`send-statement.ts`) stores many messages at a time. `storeMessage` stores one message in a separate transaction.
 */

/** The content of a new message, after all checks. */
export interface NewContent {
  content: string
  quotedMessageId: string | null
  mentions: readonly string[]
  nonce?: string | undefined
  /** Epoch milliseconds. */
  createdAt: number
}

interface TailFields extends NewContent {
  blocks?: readonly MessageBlock[]
  /** The id for clients: `dm:…` for a conversation. */
  channelId: string
  threadId?: string | undefined
  attachments?: readonly Attachment[]
  images?: readonly string[]
  imageSizes?: ImageSizes
}

/**
 * The JSON text of a new Message after its author. `messageJson` adds id, seq and author in front, because only PostgreSQL knows them.
 * The text is made once for the response, the event and the stored response, so that PostgreSQL builds no JSON.
 */
export function messageTail(message: TailFields): string {
  const {
    channelId,
    threadId,
    content,
    blocks = [],
    attachments = [],
    images = [],
    imageSizes,
    createdAt,
    nonce,
  } = message
  const { quotedMessageId, mentions } = message
  return (
    `"channelId":"${channelId}","threadId":${idJson(threadId)},"rev":1,` +
    `"content":${JSON.stringify(content)},"blocks":${listJson(blocks)},` +
    `"attachments":${listJson(attachments)},"images":${listJson(images)},` +
    `"imageSizes":${imageSizes === undefined ? '{}' : JSON.stringify(imageSizes)},"previews":[],` +
    `"quotedMessageId":${idJson(quotedMessageId)},"mentions":${listJson(mentions)},` +
    `"pinnedAt":null,"createdAt":${createdAt},"updatedAt":null,"reactions":{},"threadMeta":null` +
    `${nonce === undefined ? '' : `,"nonce":${JSON.stringify(nonce)}`}}`
  )
}

/** The id of a row needs no escaping. */
const idJson = (id: string | null | undefined) => (typeof id === 'string' ? `"${id}"` : 'null')

/** Most lists are empty, and each send makes several of them. For these a constant is faster than `JSON.stringify`. */
const listJson = (items: readonly unknown[]) => (items.length === 0 ? '[]' : JSON.stringify(items))

/** SQL: the JSON of the author, from the table or alias `user`. */
export const personJson = (user: string) =>
  `'{"id":"' || ${user}.id || '","userName":' || to_json(${user}.user_name)
    || case when ${user}.is_bot then ',"isBot":true}' else '}' end`

/** SQL: the JSON text of the whole Message, from a row with `id`, `seq`, `author` and `tail`. */
export const messageJson = `'{"id":"' || id || '","seq":' || seq || ',"author":' || author || ',' || tail`

/** The text of `messageJson`, made in TypeScript. `author` is JSON. */
export const messageText = ({ id, tail }: { id: string; tail: string }, seq: number, author: string) =>
  `{"id":"${id}","seq":${seq},"author":${author},${tail}`

/** SQL: the ids of all participants of a conversation, in JSON. It runs twice for a direct message, and never for others. */
const participants = `(select '[' || string_agg('"' || m.user_id || '"', ',' order by m.user_id) || ']'
  from channel_members m where m.channel_id = accepted.channel_id)`

/**
 * SQL: the last parts of a `with`, which insert the rows and the events of new messages. An earlier part, `accepted`, must have one
 * row for each message, with these columns: the columns of `messages` that are inserted here; `kind` and `members_version` of the
 * channel; `message` (`messageJson`); `parent` (for a reply, `threadMeta` and `parentRev` as JSON members); `parent_mentions` (for a
 * reply, everybody whom its parent has mentioned); `links` (whether the content may have links); and `trace`. The outbox ids
 * are assigned under the channels' locks in the order of `seq`, because the relay needs this order.
 */
export const storeAccepted = `
stored as (
  insert into messages (id, channel_id, thread_id, seq, author_id, webhook_id, content, blocks, shown_as, attachments, images,
    image_sizes, quoted_message_id, mentions, created_at, ts)
  select id, channel_id, thread_id, seq, author_id, webhook_id, content, blocks, shown_as, attachments, images, image_sizes, quoted_message_id, mentions,
    created_at, ts
  from accepted
), recorded as (
  insert into outbox (id, slot, routing, event, trace, created_at)
  select nextval('outbox_ids'), ring.slot, e.routing, e.event, e.trace, ring.now
  from (select slot, now_ms() as now from outbox_ring offset 0) ring, (
    select trace,
      case kind when 'direct'
        then '{"to":"users","users":' || ${participants} || '}'
        else '{"to":"channel","channel":"' || channel_id || '","version":' || members_version
          || coalesce(',"mentions":' || array_to_json(mentions || parent_mentions)::text, '') || '}' end as routing,
      case
        when kind = 'direct'
          then '{"type":"NEW_DM_MESSAGE","payload":' || left(message, -1) || ',"participants":' || ${participants} || '}}'
        when thread_id is not null
          then '{"type":"NEW_THREAD_REPLY","payload":{"parentMessageId":"' || thread_id || '","channelId":"' || channel_id
            || '","reply":' || message || ',' || parent || '}}'
        else '{"type":"NEW_MESSAGE","payload":' || message || '}' end as event
    from accepted
    order by accepted.channel_id, accepted.seq
  ) e
), previewing as (
  insert into jobs (id, name, data, trace, created_at)
  select id, 'make-previews', jsonb_build_object('messageId', id), trace, now_ms() from accepted where links
)`

/** The author's name and icon that a webhook has chosen for one message. */
export interface ShownAs {
  userName?: string
  icon?: string
}

/** A message that is stored in a separate transaction. */
export interface NewMessage extends NewContent {
  id: string
  author: { userId: string } | { webhookId: string; shownAs?: ShownAs | null }
  blocks?: readonly MessageBlock[]
  /** For a reply: its parent. */
  parentId?: string
  attachments?: readonly Attachment[]
  images?: readonly string[]
  imageSizes?: ImageSizes
}

export interface StoredMessage {
  channelId: string
  isReply: boolean
  seq: number
  /** The JSON text of the Message, or for a reply of `{reply, threadMeta, parentRev}`. */
  response: string
}

/**
 * Stores a message with the next `seq` of its channel or thread, and records its event. The transaction must hold the lock of the
 * channel. For a reply, the same statement updates the parent.
 */
export async function storeMessage(trx: Transaction, channel: ChannelRow, message: NewMessage): Promise<StoredMessage> {
  const { id, author, parentId, content, blocks, attachments, images, imageSizes = {}, mentions } = message
  const { quotedMessageId, createdAt } = message
  const [userId, webhookId] = 'userId' in author ? [author.userId, null] : [null, author.webhookId]
  const shownAs = 'webhookId' in author && author.shownAs ? JSON.stringify(author.shownAs) : null
  const authorId = { userId, webhookId }
  const tail = messageTail({ ...message, channelId: wireChannelId(channel), threadId: parentId })
  const numbered =
    parentId === undefined
      ? nextOfChannel(channel.id, createdAt)
      : nextOfThread({ parentId, channelId: channel.id }, authorId, createdAt)
  const { rows } = await sql<{ seq: number; message: string; parent: string | null }>`
    with ${authorOf(authorId, shownAs)}, ${numbered}, accepted as materialized (
      select m.*, ${sql.raw(messageJson)} as message
      from (
        select ${id}::uuid as id, ${channel.id}::uuid as channel_id, ${channel.kind}::text as kind,
          ${channel.membersVersion}::bigint as members_version, ${parentId ?? null}::uuid as thread_id, seq, ts,
          ${userId}::uuid as author_id, ${webhookId}::uuid as webhook_id, author, ${content}::text as content,
          ${jsonOrNull(blocks)}::jsonb as blocks, ${shownAs}::jsonb as shown_as,
          ${jsonOrNull(attachments)}::jsonb as attachments, ${listOrNull(images)}::text[] as images,
          ${storedSizes(imageSizes)}::jsonb as image_sizes, ${quotedMessageId}::uuid as quoted_message_id,
          ${listOrNull(mentions)}::text[] as mentions, ${createdAt}::bigint as created_at,
          ${tail}::text as tail, parent, parent_mentions, ${mayHaveLinks(content)}::boolean as links,
          ${currentTraceparent()}::text as trace
        from numbered, author
      ) m
    ), ${sql.raw(storeAccepted)}
    select seq, message, parent from accepted`.execute(trx)
  const [stored] = rows
  if (!stored) throw new Error('The message was not stored: its channel or author is missing')
  return {
    channelId: channel.id,
    isReply: parentId !== undefined,
    seq: stored.seq,
    response: stored.parent === null ? stored.message : `{"reply":${stored.message},${stored.parent}}`,
  }
}

/** The columns of empty lists are null. */
const listOrNull = <Item>(items: readonly Item[] = []) => (items.length > 0 ? items : null)
const jsonOrNull = (items: readonly unknown[] = []) => (items.length > 0 ? JSON.stringify(items) : null)

/** The id of a person or of a webhook. The other one is null. */
interface AuthorId {
  userId: string | null
  webhookId: string | null
}

const authorOf = ({ userId, webhookId }: AuthorId, shownAs: string | null) => sql`author as (
  select ${sql.raw(personJson('users'))} as author from users where id = ${userId}
  union all select (${sql.raw(webhookAuthor('webhooks', 'chosen.shown_as'))})::text
    from webhooks, (select ${shownAs}::jsonb as shown_as) chosen where id = ${webhookId}
)`

/** SQL: the `ts` of the next message of a channel, from its row in `channels`. */
const nextTs = (createdAt: number) => sql`greatest(${createdAt}::bigint * 1000, coalesce(last_ts, 0) + 1)`

const nextOfChannel = (channelId: string, createdAt: number) => sql`numbered as (
  update channels set last_seq = last_seq + 1, last_ts = ${nextTs(createdAt)} where id = ${channelId}
  returning last_seq as seq, last_ts as ts, null::text as parent, null::text[] as parent_mentions
)`

/** SQL: the author without the name and icon that a webhook has chosen for one message. */
const replierJson = sql.raw(`(author.author::jsonb - 'icon' - 'webhookName'
      || case when author.author::jsonb ? 'webhookName' then jsonb_build_object('userName', author.author::jsonb -> 'webhookName') else '{}' end)`)

const nextOfThread = (
  { parentId, channelId }: { parentId: string; channelId: string },
  { userId, webhookId }: AuthorId,
  createdAt: number,
) => sql`
thread as (
  insert into threads as t (message_id, last_seq, reply_count, last_reply_at, last_reply_by, last_reply_webhook, participants)
  values (${parentId}, 1, 1, ${createdAt}, ${userId}, ${webhookId}, array_remove(array[${userId}::uuid], null))
  on conflict (message_id) do update set
    last_seq = t.last_seq + 1,
    reply_count = t.reply_count + 1,
    last_reply_at = excluded.last_reply_at,
    last_reply_by = excluded.last_reply_by,
    last_reply_webhook = excluded.last_reply_webhook,
    participants = case when excluded.last_reply_by is null or excluded.last_reply_by = any (t.participants) then t.participants
                        else t.participants || excluded.participants end
  returning last_seq, reply_count, last_reply_at, participants
), parent as (
  update messages set rev = rev + 1 where id = ${parentId} returning rev, mentioned_before || mentions as mentions
), stamped as (
  update channels set last_ts = ${nextTs(createdAt)} where id = ${channelId} returning last_ts as ts
), numbered as (
  select thread.last_seq as seq, stamped.ts,
    '"threadMeta":' || json_build_object('replyCount', reply_count, 'lastReplyAt', last_reply_at,
      'lastReplyBy', ${replierJson}, 'participants', participants) || ',"parentRev":' || parent.rev as parent,
    parent.mentions as parent_mentions
  from thread, stamped, parent, author
)`

/**
 * Runs `store` in a separate transaction, once for each `Idempotency-Key`. Returns the JSON text that `store` returns, or for a
 * repeated request the first response. @throws the same errors as `once`.
 */
export async function postOnce(
  deps: AfterCommit & Pick<Deps, 'db'>,
  claim: RequestKey | null,
  now: number,
  store: (trx: Transaction) => Promise<StoredMessage>,
): Promise<string> {
  const stored: StoredMessage[] = []
  const create = async (trx: Transaction) => {
    stored.push(await store(trx))
    return stored[0]!.response
  }
  const response = await once(deps.db, { claim, now, form: asItIs }, create)
  if (stored.length > 0) afterCommit(deps, stored)
  return response
}

/** The response is already JSON text, so it is stored unchanged. */
const asItIs = { write: (response: string) => response, read: (stored: string) => stored }

export type CommittedMessage = Pick<StoredMessage, 'channelId' | 'isReply' | 'seq'>

type AfterCommit = Pick<Deps, 'logger' | 'wakeRelay'> & { pool: Connection['pool'] }

/**
 * Runs after a commit that stored messages. No request waits for it. If `foldReads` fails, counting unread messages is slower until the
 * next fold.
 */
export function afterCommit({ pool, logger, wakeRelay }: AfterCommit, stored: readonly CommittedMessage[]): void {
  wakeRelay()
  for (const { channelId, isReply, seq } of stored) {
    if (isReply || seq % foldEvery !== 0) continue
    foldReads(pool, channelId, seq).catch((err) =>
      logger.warn({ err }, 'the read states of authors could not be folded'),
    )
  }
}
