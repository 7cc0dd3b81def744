import type { Transaction } from '@parley/database'
import { sql } from 'kysely'
import type { Files } from '../uploads/message-uploads.ts'

export interface NewReply extends Files {
  id: string
  channelId: string
  parentId: string
  authorId: string
  content: string
  quotedMessageId?: string | null
  mentions: string[]
  createdAt: number
}

/**
 * Stores a reply with the next `seq` of its thread and brings the parent up to date, in one statement: the channel is
 * locked meanwhile, and others wait to send.
 */
export async function insertReply(trx: Transaction, reply: NewReply): Promise<void> {
  const { id, channelId, parentId, authorId, content, attachments, images, quotedMessageId, mentions, createdAt } =
    reply
  await sql`
    with thread as (
      insert into threads as t (message_id, last_seq, reply_count, last_reply_at, last_reply_by, participants)
      values (${parentId}, 1, 1, ${createdAt}, ${authorId}, array[${authorId}::uuid])
      on conflict (message_id) do update set
        last_seq = t.last_seq + 1,
        reply_count = t.reply_count + 1,
        last_reply_at = excluded.last_reply_at,
        last_reply_by = excluded.last_reply_by,
        participants = case when ${authorId} = any (t.participants) then t.participants
                            else t.participants || excluded.participants end
      returning last_seq
    ), parent as (
      update messages set rev = rev + 1 where id = ${parentId}
    )
    insert into messages (id, channel_id, thread_id, seq, author_id, content, attachments, images, quoted_message_id,
      mentions, created_at)
    select ${id}, ${channelId}, ${parentId}, last_seq, ${authorId}, ${content},
      ${attachments.length ? JSON.stringify(attachments) : null}::jsonb, ${images.length ? images : null}::text[],
      ${quotedMessageId ?? null}::uuid, ${mentions.length ? mentions : null}::text[], ${createdAt}
    from thread`.execute(trx)
}

/** Sums a thread up anew from the replies that are left, and raises the parent's `rev`. Served by messages_of_thread. */
export async function recountReplies(trx: Transaction, parentId: string): Promise<void> {
  await sql`
    with replies as materialized (
      select author_id, seq, created_at from messages where thread_id = ${parentId} and deleted_at is null
    ), newest as (
      select author_id, created_at from replies order by seq desc limit 1
    ), parent as (
      update messages set rev = rev + 1 where id = ${parentId}
    )
    update threads set
      reply_count = (select count(*) from replies),
      last_reply_at = (select created_at from newest),
      last_reply_by = (select author_id from newest),
      participants = array(select author_id from replies group by author_id order by min(seq))
    where message_id = ${parentId}`.execute(trx)
}
