import { type Kysely, sql } from 'kysely'

/**
 * The channels and conversations that people have muted or made favourites. There is a row only while one of the two is
 * true. The index serves a change of a channel's readers.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `create table channel_preferences (
     user_id uuid not null,
     channel_id uuid not null,
     is_muted boolean not null,
     is_favourite boolean not null,
     primary key (user_id, channel_id)
   )`,
  'create index channel_preferences_of_channel on channel_preferences (channel_id)',
]
