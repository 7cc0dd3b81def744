import { type Kysely, sql } from 'kysely'

/**
 * People and channels are found without the accents of their names. The entries with accents stay, because the previous version searches
 * for them. `fold_accents` uses only functions of PostgreSQL itself, because many hosted databases do not allow the extension unaccent.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const separator = "'[ !-/:-@[-`{-~]'"
const channelWords = "name_key || chr(10) || lower(coalesce(topic, ''))"

const statements = [
  // The letters of `translate` and `replace` have no decomposition in Unicode.
  `create function fold_accents(name text) returns text language sql immutable strict parallel safe
   return normalize(replace(replace(replace(translate(
     regexp_replace(normalize(name, nfd), '[\\u0300-\\u036f]', '', 'g'), 'øłđ', 'old'), 'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe'), nfc)`,

  // A transaction that still has the previous function would add people without the new entries.
  'lock table users in share row exclusive mode',
  `create or replace function user_entries(user_id uuid, name_keys text[], email text) returns setof text
   language sql immutable parallel safe
   begin atomic
     select substr(name, i) || chr(1) || user_id
     from unnest(name_keys) name_key, unnest(array[name_key, fold_accents(name_key)]) name, generate_series(1, length(name)) i
     where i = 1 or substr(name, i, 1) !~ ${separator} and substr(name, i - 1, 1) ~ ${separator}
     union
     select address || chr(1) || user_id from unnest(array[email, fold_accents(email)]) address;
   end`,
  `insert into user_words (entry, user_id)
   select entry, u.id from users u, user_entries(u.id, array[u.user_name_key, lower(u.display_name)], u.email) entry
   where u.removed_at is null and u.deactivated_at is null
   on conflict do nothing`,

  `create or replace function channel_text(name_key text, topic text) returns text language sql immutable parallel safe
   return ${channelWords} || chr(10) || fold_accents(${channelWords})`,
  'reindex index channels_grams',
  // As `channels_with_grams`, with all grams of the text. The previous version uses that function.
  `create function channels_with_text(wanted text) returns setof uuid language sql stable
   set enable_bitmapscan = on set enable_indexscan = off as $$
     select id from channels where deleted_at is null and kind <> 'direct'
       and search_grams(0, channel_text(name_key, topic)) @> search_grams(0, wanted) $$`,
]
