import { type Kysely, sql } from 'kysely'

/**
 * Files and images, and the messages that have them. The bytes are in the blob store, under keys made from the name. A
 * row is written before its bytes: an interrupted upload leaves a row, which is collected like any unused upload. The
 * foreign key keeps an upload while a message has it. `messages` itself has no foreign keys.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `create table uploads (
     filename text primary key,
     kind text not null check (kind in ('file', 'image')),
     channel_id uuid,
     original_name text not null,
     content_type text not null,
     size bigint not null,
     digest bytea not null,
     thumbnail_type text,
     uploaded_by uuid not null,
     created_at bigint not null,
     stored_at bigint,
     idle_since bigint,
     check ((kind = 'image') = (channel_id is not null))
   )`,
  'create index uploads_idle on uploads (idle_since) where idle_since is not null',

  `create table message_uploads (
     message_id uuid not null,
     filename text not null references uploads,
     primary key (message_id, filename)
   )`,
  'create index message_uploads_of_file on message_uploads (filename)',
]
