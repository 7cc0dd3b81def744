import { type Kysely, sql } from 'kysely'
import { nameSkeleton } from '../name-skeleton.ts'

interface Named {
  id: string
  userName: string
}

/**
 * Skeletons of names, so that nobody can take a name that differs only by look-alike letters of another script.
 * Existing names stay. The version before writes no skeleton: when it renames somebody, the trigger removes the old
 * one. People without a skeleton are compared by name.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
  for (let after = '00000000-0000-0000-0000-000000000000'; ; ) {
    const { rows } = await sql<Named>`
      select id, user_name as "userName" from users where id > ${after} order by id limit ${pageSize}`.execute(db)
    if (rows.length === 0) return
    await sql`
      update users set user_name_skeleton = named.skeleton
      from unnest(${rows.map(({ id }) => id)}::uuid[], ${rows.map(({ userName }) => nameSkeleton(userName))}::text[])
        as named (id, skeleton)
      where users.id = named.id`.execute(db)
    after = rows.at(-1)!.id
  }
}

const pageSize = 1_000

const statements = [
  'alter table users add column user_name_skeleton text',
  'create index users_live_skeleton on users (user_name_skeleton) where removed_at is null',
  `create function forget_skeleton() returns trigger language plpgsql as $$
     begin
       if new.user_name_key <> old.user_name_key and new.user_name_skeleton is not distinct from old.user_name_skeleton then
         new.user_name_skeleton = null;
       end if;
       return new;
     end $$`,
  `create trigger users_forget_skeleton before update of user_name_key on users
     for each row execute function forget_skeleton()`,
]
