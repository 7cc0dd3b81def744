import type { Attachment, ImageSizes, MessageBlock } from '@parley/contract'
import type { Connection } from '@parley/database'
import { foldEvery, foldReads } from '@parley/read-states'
import type { Deps } from '@parley/service'

/*
 * What every new message needs: its JSON, its row, its event, and the work after the commit. Two statements use it. The shared statement
 * (`send-statement.ts`) stores many messages at a time. `storeMessage` (`store-message.ts`) stores one message in a separate transaction.
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
 * reply, everybody whom its parent has mentioned); `links` (whether the content may have links); and `trace`.
 *
 * The relay needs two things. The outbox ids are assigned under the channels' locks, in the order of `seq`. And the transaction has its
 * number before it takes an outbox id: the lock of the channel gives it one (`record` of libs/database has no such lock and asks for it).
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

export interface CommittedMessage {
  channelId: string
  isReply: boolean
  seq: number
}

export type AfterCommit = Pick<Deps, 'logger' | 'wakeRelay'> & { pool: Connection['pool'] }

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
