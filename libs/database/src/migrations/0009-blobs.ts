import { type Kysely, sql } from 'kysely'

/**
 * The bytes of files and images, for installations without object storage, in chunks. A blob exists when `written_at`
 * is set. Several may be written under one key at once, and the first complete one stays. Bytes are not compressed:
 * most uploads are compressed already, and an uncompressed value can be read in parts.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `create table blobs (
     id uuid primary key,
     key text not null,
     size bigint not null,
     content_type text not null,
     created_at bigint not null,
     written_at bigint
   )`,
  'create index blobs_key on blobs (key)',
  'create unique index blobs_written on blobs (key) where written_at is not null',
  'create index blobs_unfinished on blobs (created_at) where written_at is null',
  `create table blob_chunks (
     blob_id uuid not null references blobs on delete cascade,
     n integer not null,
     bytes bytea not null,
     primary key (blob_id, n)
   )`,
  'alter table blob_chunks alter column bytes set storage external',
]
