import { type Kysely, sql } from 'kysely'

/**
 * Which messages mention a person, a group, or everybody in a channel, so that the mentions of a person are read newest first, whatever
 * their number. A trigger adds the rows, because the previous version sends messages too. It needs a short lock of `messages`, so the
 * messages from before are a migration of their own.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `create table mentions (
     target_id uuid not null,
     message_id uuid not null,
     primary key (target_id, message_id)
   )`,
  // A reply that mentions @channel or @here mentions nobody, as in the read states. A later version may have further kinds of mentions: they are left out.
  `create function mention_targets(mentions text[], channel_id uuid, thread_id uuid) returns setof uuid
   language sql immutable parallel safe
   begin atomic
     select distinct case when mention in ('@channel', '@here') then channel_id else replace(mention, 'group:', '')::uuid end
     from unnest(mentions) mention
     where mention ~ '^(group:)?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
       or thread_id is null and mention in ('@channel', '@here');
   end`,
  // `old` is null for a new message. The mentions that an edit keeps are in the table already, or are added by the next migration, and an
  // edit must not wait for its end.
  `create function add_mentions() returns trigger language plpgsql security definer set search_path from current as $$
     begin
       insert into mentions (target_id, message_id)
       select target_id, new.id from (
         select mention_targets(new.mentions, new.channel_id, new.thread_id)
         except select mention_targets(old.mentions, old.channel_id, old.thread_id)
       ) added (target_id)
       on conflict do nothing;
       return null;
     end $$`,
  `create trigger messages_add_mentions after insert or update of mentions on messages
   for each row when (new.mentions is not null) execute function add_mentions()`,
]
