import { type Kysely, sql } from 'kysely'

/**
 * Lets the relay notice that PostgreSQL continues from an earlier moment: a new cluster has another identifier, and a
 * promotion or a restore to a point in time begins another timeline. Both are null on servers that do not show them.
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
