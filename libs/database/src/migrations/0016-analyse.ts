import { type Kysely, sql } from 'kysely'

/**
 * Lets the worker analyse tables without statistics, which only the owner of a table may do. After a crash PostgreSQL
 * does not know any more when it analysed a table and how much has changed since, and its autovacuum skips the table.
 * One table at a time, the largest first, so that each transaction is short. Returns the table's name, or null when
 * none is left. Tables of a few pages are skipped: they are planned again when they grow.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql
    .raw(`create function analyse_next() returns text language plpgsql security definer set search_path from current as $$
      declare
        unanalysed text;
      begin
        select s.relname into unanalysed from pg_stat_user_tables s join pg_class c on c.oid = s.relid
        where s.schemaname = current_schema() and c.relkind = 'r' and pg_relation_size(c.oid) >= 65536
          and (c.reltuples < 0 or coalesce(s.last_analyze, s.last_autoanalyze) is null)
        order by pg_relation_size(c.oid) desc limit 1;
        if unanalysed is not null then
          execute format('analyze %I', unanalysed);
        end if;
        return unanalysed;
      end $$`)
    .execute(db)
}
