import { type Kysely, sql } from 'kysely'

/**
 * Exports and the pieces of their documents. An export is tried until it is ready. Each try has its own pieces, so the
 * pieces of a worker that died never mix with those of the next one.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `create table exports (
     id uuid primary key,
     requested_by uuid not null,
     state text not null check (state in ('waiting', 'running', 'ready', 'failed')),
     attempt integer not null default 0,
     records_done bigint not null default 0,
     records_total bigint,
     size bigint,
     created_at bigint not null,
     finished_at bigint,
     expires_at bigint not null
   ) with (fillfactor = 50)`,
  'create index exports_expiry on exports (expires_at)',

  `create table export_parts (
     export_id uuid not null references exports,
     attempt integer not null,
     n integer not null,
     size integer not null,
     primary key (export_id, attempt, n)
   )`,
]
