import { wireChannelId } from '@parley/access'
import type { Attachment, ImageSizes, MessageBlock } from '@parley/contract'
import { type ChannelRow, once, type RequestKey, type Transaction } from '@parley/database'
import { webhookAuthor } from '@parley/messages'
import type { Deps } from '@parley/service'
import { currentTraceparent } from '@parley/telemetry'
import { sql } from 'kysely'
import { mayHaveLinks } from '../previews/link-jobs.ts'
import { storedSizes } from '../uploads/message-uploads.ts'
import {
  type AfterCommit,
  afterCommit,
  type CommittedMessage,
  messageJson,
  messageTail,
  type NewContent,
  personJson,
  storeAccepted,
} from './new-message.ts'

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

export interface StoredMessage extends CommittedMessage {
  /** The JSON text of the Message, or for a reply of `{reply, threadMeta, parentRev}`. */
  response: string
}

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
