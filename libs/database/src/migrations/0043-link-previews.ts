import { type Kysely, sql } from 'kysely'

/**
 * What the links of messages lead to. Their images are uploads without an uploader. `link_previews` remembers what was fetched, for all
 * messages with the same link.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  'alter table messages add column previews jsonb',
  'alter table uploads alter column uploaded_by drop not null',
  `create table link_previews (
     url_hash bytea primary key,
     title text,
     description text,
     site_name text,
     image bytea,
     image_width integer,
     image_height integer,
     expires_at bigint not null
   )`,
  'create index link_previews_expiry on link_previews (expires_at)',
]
