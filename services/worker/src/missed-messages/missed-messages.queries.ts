import { canReadById } from '@parley/access'
import { firstIdOf, isActive, type Reader, type Transaction, tryLockByName } from '@parley/database'
import { sql } from 'kysely'

/** A period of time in which messages were created, in epoch milliseconds. `until` does not belong to it. */
export interface Period {
  from: number
  until: number
}

/** A person with missed messages. */
export interface MissedBy {
  userId: string
  userName: string
  email: string
  /** The number of their missed messages. */
  count: number
  /** The first ones, oldest first. */
  messageIds: string[]
}

export interface MissedByOptions {
  period: Period
  /** Only people with a greater id. */
  after: string
  /** The largest number of people to look at. */
  people: number
  /** The largest number of message ids for one person. */
  messages: number
  now: number
}

/**
 * Looks at the next people, by id, to whom messages of the period are addressed, and returns those who have missed some. A missed message is a
 * direct message, or it mentions the person by name or by a group of theirs. The person may read it, has not read it yet, and has no open
 * stream. In a muted channel it must mention them by name, and in a muted conversation no message counts. `lastUserId` is the last person that was
 * looked at, or null when there are no more. The messages are found by their primary key, and of each group only the next people are read.
 */
export async function listMissedBy(
  db: Reader,
  { period, after, people, messages, now }: MissedByOptions,
): Promise<{ missedBy: MissedBy[]; lastUserId: string | null }> {
  const { rows } = await sql<MissedBy & { count: number | null }>`
    with recent as materialized (
      select m.id, m.channel_id, m.thread_id, m.seq, m.author_id, m.mentions, c.kind
      from messages m, lateral (select kind from channels where channels.id = m.channel_id offset 0) c
      where m.id >= ${firstIdOf(period.from)}::uuid and m.id < ${firstIdOf(period.until)}::uuid
        and m.deleted_at is null and (m.mentions is not null or c.kind = 'direct')
    ), addressed as materialized (
      select recent.id as message_id, participant.user_id
      from recent join channel_members participant on participant.channel_id = recent.channel_id
      where recent.kind = 'direct'
      union
      select recent.id, coalesce(member.user_id, target_id)
      from recent, mention_targets(recent.mentions, recent.channel_id, recent.thread_id) target_id
        left join lateral (
          select g.user_id from group_members g where g.group_id = target_id and g.user_id > ${after}::uuid
          order by g.user_id limit ${people}) member on true
    ), written as materialized (
      select own.channel_id, own.author_id, max(own.seq) as seq
      from (select channel_id, min(seq) as seq from recent where thread_id is null group by channel_id) first_recent
        join messages own on own.channel_id = first_recent.channel_id and own.thread_id is null and own.seq > first_recent.seq
      where own.author_id is not null
      group by own.channel_id, own.author_id
    ), next_people as materialized (
      select distinct user_id from addressed where user_id > ${after}::uuid order by user_id limit ${people}
    ), missed as (
      select u.id as user_id, u.user_name, u.email, count(*)::int as count,
        (array_agg(m.id order by m.id))[1:${sql.lit(messages)}] as message_ids
      from next_people
        join addressed using (user_id)
        join recent m on m.id = addressed.message_id
        join users u on u.id = user_id
        left join written on written.channel_id = m.channel_id and written.author_id = user_id
      where u.id is distinct from m.author_id
        and u.removed_at is null and ${isActive(now)} and not u.is_bot and not u.email_unproven
        and not exists (
          select from notification_settings s where s.user_id = u.id and not s.mails_missed_messages offset 0)
        and not exists (select from presence p where p.user_id = u.id and p.streams <> '{}' offset 0)
        and not exists (
          select from channel_preferences p
          where p.user_id = u.id and p.channel_id = m.channel_id and p.is_muted
            and (m.kind = 'direct' or not m.mentions && array[u.id::text]) offset 0)
        and ${canReadById('m.channelId', { userId: sql.ref('u.id'), role: sql.ref('u.role') })}
        and not ${isRead}
      group by u.id
    )
    select user_id, user_name, email, count, message_ids
    from next_people left join missed using (user_id)
    order by user_id`.execute(db)
  return {
    missedBy: rows.filter(({ count }) => count !== null),
    lastUserId: rows.length < people ? null : rows.at(-1)!.userId,
  }
}

/**
 * Whether the person `u` has read the message `m`: they have marked it as read, or have written a later one. Only those who follow a thread
 * have unread replies.
 */
const isRead = sql<boolean>`(case when m.thread_id is null then
    coalesce(written.seq > m.seq, false) or exists (
      select from read_states r where r.user_id = u.id and r.channel_id = m.channel_id and r.read_seq >= m.seq offset 0)
  else
    not exists (
      select from thread_follows f
      where f.message_id = m.thread_id and f.user_id = u.id and f.is_following and f.read_seq < m.seq offset 0)
  end)`

/** A message as a mail shows it. */
export interface MissedMessage {
  id: string
  channelId: string
  kind: 'public' | 'private' | 'direct'
  channelName: string
  threadId: string | null
  author: string
  content: string
  /** The number of its files and images. */
  files: number
}

/** These messages, by id. */
export async function findMissedMessages(db: Reader, ids: readonly string[]): Promise<Map<string, MissedMessage>> {
  const { rows } = await sql<MissedMessage>`
    select m.id, m.channel_id, c.kind, c.name as channel_name, m.thread_id, m.content,
      coalesce(m.shown_as ->> 'userName', u.display_name, u.user_name, w.name, 'Somebody') as author,
      coalesce(jsonb_array_length(m.attachments), 0) + coalesce(cardinality(m.images), 0) as files
    from unnest(${ids}::uuid[]) wanted (id)
      join messages m on m.id = wanted.id
      join channels c on c.id = m.channel_id
      left join users u on u.id = m.author_id
      left join webhooks w on w.id = m.webhook_id`.execute(db)
  return new Map(rows.map((row) => [row.id, row]))
}

/** Waits for no other worker: undefined while another one holds the progress. `now` is PostgreSQL's time, which all workers share. */
export async function takeProgress(trx: Transaction) {
  if (!(await tryLockByName(trx, 'missed messages'))) return undefined
  return trx
    .selectFrom('missedMessagesProgress')
    .select(['doneUntil', 'runningUntil', 'lastUserId', sql<number>`now_ms()`.as('now')])
    .executeTakeFirstOrThrow()
}
