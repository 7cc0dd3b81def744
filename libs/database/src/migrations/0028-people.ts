import { type Kysely, sql } from 'kysely'

/**
 * Guests, deactivation, bots, and what people are called. `role` follows from `is_admin` and `is_guest`, so it is right whichever version
 * makes somebody an admin. People are also found by the words of their display name; who is deactivated is not found at all.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const separator = "'[ !-/:-@[-`{-~]'"

const statements = [
  `alter table users
     add column is_guest boolean not null default false,
     add column guest_expires_at bigint,
     add column deactivated_at bigint,
     add column is_bot boolean not null default false,
     add column display_name text,
     add column title text,
     add column managed_by text`,
  `alter table users add column role text generated always as (
     case when is_admin then 'admin' when is_guest then 'guest' else 'member' end) stored`,
  `create index users_guests_expiring on users (guest_expires_at)
   where guest_expires_at is not null and deactivated_at is null and removed_at is null`,

  // As `user_entries` of three arguments, for several names of one person.
  `create function user_entries(user_id uuid, name_keys text[], email text) returns setof text
   language sql immutable parallel safe
   begin atomic
     select substr(name_key, i) || chr(1) || user_id
     from unnest(name_keys) name_key, generate_series(1, length(name_key)) i
     where i = 1 or substr(name_key, i, 1) !~ ${separator} and substr(name_key, i - 1, 1) ~ ${separator}
     union
     select email || chr(1) || user_id;
   end`,
  `create or replace function enter_user_words() returns trigger
   language plpgsql security definer set search_path from current as $$
     begin
       insert into user_words (entry, user_id)
       select entry, u.id from added_users u,
         user_entries(u.id, array[u.user_name_key, lower(u.display_name)], u.email) entry
       where u.removed_at is null and u.deactivated_at is null;
       return null;
     end $$`,
  `create or replace function change_user_words() returns trigger
   language plpgsql security definer set search_path from current as $$
     begin
       delete from user_words where user_id = new.id;
       if new.removed_at is null and new.deactivated_at is null then
         insert into user_words (entry, user_id)
         select entry, new.id from user_entries(
           new.id, array[new.user_name_key, lower(new.display_name)], new.email) entry;
       end if;
       return null;
     end $$`,
  'drop trigger users_change_words on users',
  `create trigger users_change_words
     after update of user_name_key, display_name, email, removed_at, deactivated_at on users
     for each row execute function change_user_words()`,
]
