import { type Kysely, sql } from 'kysely'

/** How far bots have dealt with the events, by the names they give. The outbox keeps what a consumer has yet to read. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `create table consumers (
     user_id uuid not null,
     name text not null,
     epoch text not null,
     pos bigint not null,
     created_at bigint not null,
     updated_at bigint not null,
     stream_id uuid,
     primary key (user_id, name)
   )`,
]
