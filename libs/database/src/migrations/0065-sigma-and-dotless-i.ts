import { type Kysely, sql } from 'kysely'

/**
 * The two small sigmas of Greek are equal in searches for people and channels, and so are `ı` and `i`. Before, nobody found `ΠΑΠΑΣ`:
 * PostgreSQL writes it as `παπασ` in lower case, and JavaScript as `παπας`. The previous entries stay, and no search reads those with `ς`
 * or `ı` any more.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  // As before, with `ıς` among the letters of `translate`.
  `create or replace function fold_accents(name text) returns text language sql immutable strict parallel safe
   return normalize(replace(replace(replace(translate(
     regexp_replace(normalize(name, nfd), '[\\u0300-\\u036f]', '', 'g'), 'øłđıς', 'oldiσ'), 'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe'), nfc)`,
  // A transaction that still has the previous function would add people without the new entries.
  'lock table users in share row exclusive mode',
  `insert into user_words (entry, user_id)
   select entry, u.id from users u, user_entries(u.id, array[u.user_name_key, lower(u.display_name)], u.email) entry
   where u.removed_at is null and u.deactivated_at is null and concat(u.user_name_key, lower(u.display_name), u.email) ~ '[ıς]'
   on conflict do nothing`,
  'reindex index channels_grams',
]
