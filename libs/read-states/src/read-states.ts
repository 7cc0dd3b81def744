import type { ReadState } from '@parley/contract'
import type { Connection, Transaction } from '@parley/database'
import { type RawBuilder, sql } from 'kysely'

/**
 * The read state of a user in the channel or conversation that a statement selects from `channels`. They have read up
 * to the seq that they marked, or up to their own last message when that is newer. All later messages that are not
 * deleted are unread. It costs a few index look-ups, one more for each unread message that is deleted or mentions
 * somebody, and a scan of the unread messages that `foldReads` has not processed yet, a few hundred at most
 * (docs/decisions/0009-unread-is-a-distance.md).
 */
export const readStateOf = (userId: string | RawBuilder<string>): RawBuilder<ReadState> => sql<ReadState>`(
  select json_build_object(
    'lastSeq', channels.last_seq,
    'readSeq', mine.read_seq,
    'unreadCount', channels.last_seq - mine.read_seq - (
      select count(*) from messages m
      where m.channel_id = channels.id and m.thread_id is null and m.deleted_at is not null and m.seq > mine.read_seq),
    'mentionCount', (
      select count(*) from messages m
      where m.channel_id = channels.id and m.thread_id is null and m.mentions is not null and m.seq > mine.read_seq
        and m.mentions && (array[${userId}::text, '@channel', '@here'] || array(
          select 'group:' || g.group_id from group_members g where g.user_id = ${userId}))))
  from (
    select coalesce(
      (select m.seq from messages m
       where m.channel_id = channels.id and m.thread_id is null and m.author_id = ${userId}
         and m.seq > greatest(marked.seq, (select f.folded_seq from read_folds f where f.channel_id = channels.id))
       order by m.seq desc limit 1),
      marked.seq) as read_seq
    from (
      select coalesce(
        (select r.read_seq from read_states r where r.user_id = ${userId} and r.channel_id = channels.id), 0) as seq
      offset 0
    ) marked
    offset 0
  ) mine
)`

/** `readStateOf` for a `from` clause, after `channels`, with the fields of ReadState as columns. Give it an alias. */
export const readStateColumns = (userId: string) => sql`lateral (
  select * from json_to_record(${readStateOf(userId)})
    as state ("lastSeq" bigint, "readSeq" bigint, "unreadCount" bigint, "mentionCount" bigint)
)`

/** After this many messages of a channel its authors are entered in `read_states`. */
export const foldEvery = 256

/**
 * Stores in `read_states` that the authors of a channel's messages up to `seq` have read up to their own messages.
 * Idempotent. It changes no read state, but `readStateOf` then reads fewer rows.
 */
export async function foldReads(pool: Connection['pool'], channelId: string, seq: number): Promise<void> {
  await pool.query(
    `with folded as (
       select coalesce((select folded_seq from read_folds where channel_id = $1), 0) as seq
     ), entered as (
       insert into read_states (user_id, channel_id, read_seq)
       select m.author_id, $1, max(m.seq) from messages m, folded
       where m.channel_id = $1 and m.thread_id is null and m.author_id is not null and m.seq > folded.seq and m.seq <= $2
       group by m.author_id order by m.author_id
       on conflict (user_id, channel_id) do update set read_seq = excluded.read_seq
         where read_states.read_seq < excluded.read_seq
     )
     insert into read_folds as f (channel_id, folded_seq) values ($1, $2)
     on conflict (channel_id) do update set folded_seq = excluded.folded_seq where f.folded_seq < excluded.folded_seq`,
    [channelId, seq],
  )
}

/**
 * Marks channels of these kinds as read for a user who may read them without being a member from now on: a new user, or
 * one with a new role. Call it before the change of rights.
 */
export async function startReadingAll(
  trx: Transaction,
  { userId, kinds }: { userId: string; kinds: readonly ('public' | 'private')[] },
): Promise<void> {
  if (kinds.length === 0) return
  await sql`
    insert into read_states (user_id, channel_id, read_seq)
    select ${userId}::uuid, c.id, c.last_seq from channels c
    where c.kind = any (${kinds}::text[]) and c.deleted_at is null and c.last_seq > 0 and not exists (
      select from channel_members m where m.channel_id = c.id and m.user_id = ${userId}::uuid)
    order by c.id
    on conflict (user_id, channel_id)
      do update set read_seq = greatest(read_states.read_seq, excluded.read_seq)`.execute(trx)
}

/**
 * Marks a channel as read for the users who may read it from now on. It leaves out the users who could read it before:
 * admins, and everybody except guests for a public channel. Call it under the channel's lock, before the change.
 */
export async function startReading(
  trx: Transaction,
  channelId: string,
  who: { only: readonly string[] } | { allBut: readonly string[] },
): Promise<void> {
  const [userIds, listed] = 'only' in who ? [who.only, true] : [who.allBut, false]
  await sql`
    insert into read_states (user_id, channel_id, read_seq)
    select u.id, c.id, c.last_seq from channels c, users u
    where c.id = ${channelId} and c.last_seq > 0 and u.removed_at is null and not u.is_admin
      and (c.kind = 'private' or u.is_guest)
      and (u.id = any (${userIds}::uuid[])) = ${listed}
    order by u.id
    on conflict (user_id, channel_id)
      do update set read_seq = greatest(read_states.read_seq, excluded.read_seq)`.execute(trx)
}
