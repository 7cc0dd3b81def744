import { type Kysely, sql } from 'kysely'

/** The format in which a subscription's events are sent. */
export const up = (db: Kysely<unknown>): Promise<unknown> =>
  sql.raw("alter table subscriptions add column format text not null default 'parley'").execute(db)
