import { canReadById } from '@parley/access'
import type { Language } from '@parley/contract'
import { firstIdOf, isActive, type Reader, type Transaction, tryLockByName } from '@parley/database'
import { type RawBuilder, sql } from 'kysely'

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
  /** Null while it is not known. */
  language: Language | null
  /** The number of their missed messages. */
  count: number
  /** The first ones, oldest first. */
  messageIds: string[]
}

interface MissedByOptions {
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
 * Looks at the next people, by id, to whom messages of the period are addressed, and returns those who have missed some. `lastUserId` is the last
 * person that was looked at, or null when there are no more. The messages are found by their primary key, and of each group only the next people are
 * read.
 */
export async function listMissedBy(
  db: Reader,
  { period, after, people, messages, now }: MissedByOptions,
): Promise<{ missedBy: MissedBy[]; lastUserId: string | null }> {
  const { rows } = await missedBy({
    isWanted: sql`m.id >= ${firstIdOf(period.from)}::uuid and m.id < ${firstIdOf(period.until)}::uuid`,
    isNext: (userId) => sql`${userId} > ${after}::uuid`,
    people,
    messages,
    now,
  }).execute(db)
  return {
    missedBy: rows.filter(({ count }) => count !== null),
    lastUserId: rows.length < people ? null : rows.at(-1)!.userId,
  }
}

/** Which of these messages the person has still missed; undefined when none. Their number is that of `ids` at most. */
export async function findMissedBy(
  db: Reader,
  { userId, ids, now }: { userId: string; ids: readonly string[]; now: number },
): Promise<MissedBy | undefined> {
  const { rows } = await missedBy({
    isWanted: sql`m.id = any(${ids}::uuid[])`,
    isNext: (column) => sql`${column} = ${userId}::uuid`,
    people: 1,
    messages: ids.length,
    now,
  }).execute(db)
  return rows.find(({ count }) => count !== null)
}

interface MissedByParts {
  /** Whether the message `m` is looked at. */
  isWanted: RawBuilder<unknown>
  /** Whether the person with this id is looked at. */
  isNext: (userId: RawBuilder<unknown>) => RawBuilder<unknown>
  people: number
  messages: number
  now: number
}

/**
 * One row for each person who is looked at; `count` is null when they have missed nothing. A missed message is a direct message, or it mentions the person
 * by name or by a group of theirs. The person may read it, has not read it yet, and has no open stream. They have marked a message as read, or have
 * written a later one. Only those who follow a thread have unread replies. In a muted channel a message must mention them by name, and in a muted
 * conversation no message counts.
 *
 * Everything that does not depend on the single message is looked up once for each person and channel, because thousands of messages may mention
 * the same group. Messages that `foldReads` has processed are in `read_states`, so `written` does not read them.
 */
const missedBy = ({ isWanted, isNext, people, messages, now }: MissedByParts) => sql<
  MissedBy & { count: number | null }
>`
    with recent as materialized (
      select m.id, m.channel_id, m.thread_id, m.seq, m.author_id, m.mentions, c.kind
      from messages m, lateral (select kind from channels where channels.id = m.channel_id offset 0) c
      where ${isWanted} and m.deleted_at is null and (m.mentions is not null or c.kind = 'direct')
    ), targets as materialized (
      select participant.user_id as target_id, recent.id as message_id, recent.channel_id, thread_id, seq, author_id, true as is_direct
      from recent join channel_members participant on participant.channel_id = recent.channel_id
      where recent.kind = 'direct'
      union all
      select target_id, recent.id, recent.channel_id, thread_id, seq, author_id, false
      from recent, mention_targets(recent.mentions, recent.channel_id, recent.thread_id) target_id
      where recent.kind <> 'direct'
    ), written as materialized (
      select own.channel_id, own.author_id, max(own.seq) as seq
      from (select channel_id, min(seq) as seq from recent where thread_id is null group by channel_id) first_recent
        left join read_folds fold on fold.channel_id = first_recent.channel_id
        join messages own on own.channel_id = first_recent.channel_id and own.thread_id is null
          and own.seq > greatest(first_recent.seq, fold.folded_seq)
      where own.author_id is not null
      group by own.channel_id, own.author_id
    ), target_people as materialized (
      select target_id, coalesce(member.user_id, target_id) as user_id
      from (select distinct target_id from targets) target left join lateral (
        select g.user_id from group_members g where g.group_id = target_id and ${isNext(sql.ref('g.user_id'))}
        order by g.user_id limit ${people}) member on true
    ), next_people as materialized (
      select distinct user_id from target_people where ${isNext(sql.ref('user_id'))} order by user_id limit ${people}
    ), wanting as materialized (
      select u.id as user_id, u.user_name, u.email, u.language, u.role
      from next_people join users u on u.id = user_id
      where u.removed_at is null and ${isActive(now)} and not u.is_bot and not u.email_unproven
        and not exists (
          select from notification_settings s where s.user_id = u.id and not s.mails_missed_messages offset 0)
        and not exists (select from presence p where p.user_id = u.id and p.streams <> '{}' offset 0)
    ), places as materialized (
      select user_id, target_id, target.channel_id, coalesce((
          select p.is_muted from channel_preferences p
          where p.user_id = wanting.user_id and p.channel_id = target.channel_id), false) as is_muted,
        greatest(0,
          (select r.read_seq from read_states r where r.user_id = wanting.user_id and r.channel_id = target.channel_id),
          (select seq from written where written.author_id = wanting.user_id and written.channel_id = target.channel_id)) as read_seq
      from wanting join target_people using (user_id)
        join (select distinct target_id, channel_id from targets) target using (target_id)
      where ${canReadById('target.channelId', { userId: sql.ref('wanting.userId'), role: sql.ref('wanting.role') })}
    ), missed as (
      select user_id, count(distinct message_id)::int as count,
        (array_agg(distinct message_id order by message_id))[1:${sql.lit(messages)}] as message_ids
      from places p join targets m using (target_id, channel_id)
      where user_id is distinct from author_id and (not is_muted or not is_direct and target_id = user_id)
        and case when m.thread_id is null then m.seq > p.read_seq else exists (
          select from thread_follows f
          where f.message_id = m.thread_id and f.user_id = p.user_id and f.is_following and f.read_seq < m.seq offset 0) end
      group by user_id
    )
    select user_id, user_name, email, language, count, message_ids
    from next_people left join missed using (user_id) left join wanting using (user_id)
    order by user_id`

/** A message as a mail shows it. */
export interface MissedMessage {
  id: string
  channelId: string
  kind: 'public' | 'private' | 'direct'
  channelName: string
  threadId: string | null
  /** Null when the author is not known any more. */
  author: string | null
  content: string
  /** The number of its files and images. */
  files: number
  /** The handle of the mentioned group of theirs. Null when it mentions them by name. */
  group: string | null
}

/** These messages as a mail to the person shows them, oldest first. */
export async function findMissedMessages(
  db: Reader,
  { userId, ids }: { userId: string; ids: readonly string[] },
): Promise<MissedMessage[]> {
  const { rows } = await sql<MissedMessage>`
    select m.id, m.channel_id, c.kind, c.name as channel_name, m.thread_id, m.content,
      coalesce(m.shown_as ->> 'userName', u.display_name, u.user_name, w.name) as author,
      coalesce(jsonb_array_length(m.attachments), 0) + coalesce(cardinality(m.images), 0) as files,
      case when not m.mentions && array[${userId}::text] then (
        select g.handle from group_members member join groups g on g.id = member.group_id
        where member.user_id = ${userId}::uuid and m.mentions && array['group:' || g.id]
        order by g.handle limit 1) end as "group"
    from unnest(${ids}::uuid[]) wanted (id)
      join messages m on m.id = wanted.id
      join channels c on c.id = m.channel_id
      left join users u on u.id = m.author_id
      left join webhooks w on w.id = m.webhook_id
    where m.deleted_at is null
    order by m.id`.execute(db)
  return rows
}

/** Waits for no other worker: undefined while another one holds the progress. `now` is PostgreSQL's time, which all workers share. */
export async function takeProgress(trx: Transaction) {
  if (!(await tryLockByName(trx, 'missed messages'))) return undefined
  return trx
    .selectFrom('missedMessagesProgress')
    .select(['doneUntil', 'runningUntil', 'lastUserId', sql<number>`now_ms()`.as('now')])
    .executeTakeFirstOrThrow()
}
