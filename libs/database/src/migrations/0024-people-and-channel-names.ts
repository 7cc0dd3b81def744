import { type Kysely, sql } from 'kysely'

/**
 * Finds people by the beginning of any word of their name or of their address, and channels by any part of name or topic. Triggers
 * write the words, because the version before knows nothing of them.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const separator = "'[ !-/:-@[-`{-~]'"

const statements = [
  // What a person is found by: their name from the beginning of each of its words on, and their address. Behind it stands the id, so
  // that an entry is one person's, and a page can go on behind any entry.
  `create table user_words (
     entry text collate "C" primary key,
     user_id uuid not null
   )`,
  'create index user_words_of_user on user_words (user_id, entry)',
  `create function user_entries(user_id uuid, name_key text, email text) returns setof text language sql immutable parallel safe
   begin atomic
     select substr(name_key, i) || chr(1) || user_id from generate_series(1, length(name_key)) i
     where i = 1 or substr(name_key, i, 1) !~ ${separator} and substr(name_key, i - 1, 1) ~ ${separator}
     union
     select email || chr(1) || user_id;
   end`,

  `create function enter_user_words() returns trigger language plpgsql security definer set search_path from current as $$
     begin
       insert into user_words (entry, user_id)
       select entry, u.id from added_users u, user_entries(u.id, u.user_name_key, u.email) entry where u.removed_at is null;
       return null;
     end $$`,
  `create function change_user_words() returns trigger language plpgsql security definer set search_path from current as $$
     begin
       delete from user_words where user_id = new.id;
       if new.removed_at is null then
         insert into user_words (entry, user_id)
         select entry, new.id from user_entries(new.id, new.user_name_key, new.email) entry;
       end if;
       return null;
     end $$`,
  `create trigger users_enter_words after insert on users
     referencing new table as added_users for each statement execute function enter_user_words()`,
  `create trigger users_change_words after update of user_name_key, email, removed_at on users
     for each row execute function change_user_words()`,
  `insert into user_words (entry, user_id)
   select entry, u.id from users u, user_entries(u.id, u.user_name_key, u.email) entry where u.removed_at is null`,

  // Channels change rarely and are never so many that collecting entries would pay.
  `create function channel_text(name_key text, topic text) returns text language sql immutable parallel safe
   return name_key || chr(10) || lower(coalesce(topic, ''))`,
  `create index channels_grams on channels using gin (search_grams(0, channel_text(name_key, topic)))
   with (fastupdate = off) where deleted_at is null and kind <> 'direct'`,
  // Our sessions forbid bitmap scans, the only way to read this index.
  `create function channels_with_grams(grams text[]) returns setof uuid language sql stable
   set enable_bitmapscan = on set enable_indexscan = off as $$
     select id from channels where deleted_at is null and kind <> 'direct'
       and search_grams(0, channel_text(name_key, topic)) @> search_keys(0, grams) $$`,
]
