import { type Kysely, sql } from 'kysely'

/**
 * People belong to public channels too: everybody to General, and whoever has posted to a channel to that one. What takes long on a
 * large installation, reading all messages and entering the memberships, comes first, while the version before goes on; the locks
 * that stop it are taken for the rest alone. Triggers count the members, because the version before knows nothing of `member_count`.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `insert into channel_members (channel_id, user_id, joined_at)
   select channel_id, user_id, (select now_ms()) from (
     select c.id as channel_id, u.id as user_id from channels c, users u
     where c.name_key = 'general' and c.kind = 'public' and c.deleted_at is null and u.removed_at is null
     union
     select m.channel_id, m.author_id from messages m
       join channels c on c.id = m.channel_id join users u on u.id = m.author_id
     where c.kind = 'public' and c.deleted_at is null and u.removed_at is null
   ) belonging
   on conflict do nothing`,

  'alter table channels add column member_count integer not null default 0',
  // Who was removed by the version before while the messages were read.
  `delete from channel_members m using channels c, users u
   where c.id = m.channel_id and c.kind = 'public' and u.id = m.user_id and u.removed_at is not null`,
  `create function count_members() returns trigger language plpgsql security definer set search_path from current as $$
     declare
       sign constant integer := case tg_op when 'INSERT' then 1 else -1 end;
       changed record;
     begin
       for changed in select channel_id, count(*) as size from changed_members group by channel_id order by channel_id loop
         update channels set member_count = member_count + sign * changed.size
         where id = changed.channel_id and kind <> 'direct';
       end loop;
       return null;
     end $$`,
  `create trigger channel_members_added after insert on channel_members
     referencing new table as changed_members for each statement execute function count_members()`,
  `create trigger channel_members_removed after delete on channel_members
     referencing old table as changed_members for each statement execute function count_members()`,
  `update channels set member_count = counted.size
   from (select channel_id, count(*) as size from channel_members group by channel_id) counted
   where counted.channel_id = channels.id and channels.kind <> 'direct'`,
]
