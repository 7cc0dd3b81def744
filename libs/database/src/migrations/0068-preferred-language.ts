import { type Kysely, sql } from 'kysely'

/**
 * The language that a directory has sent for a person by SCIM, which is a part of their ETag; and whether they have
 * chosen the language of their mails themselves.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const watched = 'email, display_name, title, deactivated_at, external_id, scim_user_name, preferred_language'
const columnsOf = (row: 'old' | 'new') => watched.replaceAll(/\w+/g, (column) => `${row}.${column}`)

const statements = [
  `alter table users
     add column preferred_language text,
     add column language_chosen boolean not null default false`,
  `create or replace trigger users_note_change before update of ${watched} on users for each row
     when ((${columnsOf('new')}) is distinct from (${columnsOf('old')}))
     execute function note_user_change()`,
]
