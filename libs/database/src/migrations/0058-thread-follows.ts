import { type Kysely, sql } from 'kysely'

/**
 * Who follows which thread, and how far they have read it. `last_reply_at` and `unread_count` are in the row of each person, so that the
 * threads of a person are read in their order, whatever their number. The authors of a parent and of its replies follow it, and have read
 * everything. Nothing is locked that the previous version writes.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `create table thread_follows (
     message_id uuid not null,
     user_id uuid not null,
     channel_id uuid not null,
     is_following boolean not null,
     read_seq bigint not null,
     unread_count integer not null default 0,
     last_reply_at bigint
   ) with (fillfactor = 80)`,
  `insert into thread_follows (message_id, user_id, channel_id, is_following, read_seq, last_reply_at)
   select t.message_id, u.id, m.channel_id, true, t.last_seq, t.last_reply_at
   from threads t join messages m on m.id = t.message_id,
     lateral (select m.author_id as id union select unnest(t.participants)) person join users u on u.id = person.id
   where t.reply_count > 0 and m.deleted_at is null and not u.is_bot and u.removed_at is null`,
  'alter table thread_follows add primary key (message_id, user_id)',
  `create index thread_follows_of_user on thread_follows (user_id, last_reply_at, message_id)
     where is_following and last_reply_at is not null`,
  `create index thread_follows_unread on thread_follows (user_id, last_reply_at, message_id) include (channel_id)
     where is_following and last_reply_at is not null and unread_count > 0`,
]
