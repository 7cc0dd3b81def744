import { type Kysely, sql } from 'kysely'

/**
 * Lets the worker analyse a table without statistics: only the owner of a table may. PostgreSQL forgets after a crash when it
 * analysed what and how much has changed since, and its autovacuum then leaves alone what it believes to be unchanged. One table
 * at a time, the largest first, so that each is a short transaction; answers its name, null when there is none left. Tables of a
 * few pages are not worth it: their plans are made anew when they grow.
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
