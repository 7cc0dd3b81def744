import { type Kysely, sql } from 'kysely'

/**
 * Directories that provision people by SCIM, and what they say of people. `changed_at` is when a person last changed
 * for SCIM, and grows with each change, so it makes the ETag; null: never since they were created.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const watched = 'email, display_name, title, deactivated_at, external_id, scim_user_name'
const columnsOf = (row: 'old' | 'new') => watched.replaceAll(/\w+/g, (column) => `${row}.${column}`)

const statements = [
  `create table scim_clients (
     id uuid primary key,
     name text not null,
     token_hash bytea not null,
     created_by uuid not null references users,
     created_at bigint not null,
     last_used_at bigint,
     deleted_at bigint
   )`,
  `alter table users
     add column external_id text,
     add column scim_user_name text,
     add column scim_deleted_at bigint,
     add column changed_at bigint`,
  'create index users_external_id on users (external_id) where external_id is not null',
  'create index users_scim_names on users (lower(coalesce(scim_user_name, email))) where removed_at is null and not is_bot',
  'create index users_live_bots on users (user_name_key) where is_bot and removed_at is null',
  `create function note_user_change() returns trigger language plpgsql as $$
     begin
       new.changed_at = greatest(now_ms(), coalesce(old.changed_at, old.created_at) + 1);
       return new;
     end $$`,
  `create trigger users_note_change before update of ${watched} on users for each row
     when ((${columnsOf('new')}) is distinct from (${columnsOf('old')}))
     execute function note_user_change()`,
]
