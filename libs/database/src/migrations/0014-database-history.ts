import { type Kysely, sql } from 'kysely'

/**
 * Lets the relay notice that PostgreSQL goes on from an earlier moment than before: a cluster made anew has another identifier,
 * one that was promoted or restored to a point in time another timeline. Where a server keeps these to itself, both are null.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql
    .raw(`create function database_history() returns text language plpgsql stable as $$
      begin
        return (select system_identifier from pg_control_system()) || '/' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8);
      exception when insufficient_privilege or undefined_function or feature_not_supported then
        return null;
      end $$`)
    .execute(db)
  await sql.raw('alter table relay_lease add column history text').execute(db)
}
