import { type Kysely, sql } from 'kysely'

/** Mails about missed messages: who does not want them, and up to when the messages were looked at. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `create table notification_settings (
     user_id uuid primary key,
     mails_missed_messages boolean not null
   )`,
  `create table missed_messages_progress (
     id smallint primary key default 1 check (id = 1),
     done_until bigint not null,
     running_until bigint,
     last_user_id uuid
   )`,
  'insert into missed_messages_progress (done_until) values (now_ms())',
]
