import { type Kysely, sql } from 'kysely'

/** The given and the family name that a directory has sent for a person by SCIM. They are a part of their ETag. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const watched =
  'email, display_name, title, deactivated_at, external_id, scim_user_name, preferred_language, given_name, family_name'
const columnsOf = (row: 'old' | 'new') => watched.replaceAll(/\w+/g, (column) => `${row}.${column}`)

const statements = [
  'alter table users add column given_name text, add column family_name text',
  `create or replace trigger users_note_change before update of ${watched} on users for each row
     when ((${columnsOf('new')}) is distinct from (${columnsOf('old')}))
     execute function note_user_change()`,
]
