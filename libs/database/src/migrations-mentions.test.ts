import { type Database, migrate, uuidv7 } from '@parley/database'
import { type Kysely, sql } from 'kysely'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { createDatabaseAt } from './earlier-schema.testing.ts'
import { up } from './migrations/0062-earlier-mentions.ts'

let database: Awaited<ReturnType<typeof createDatabaseAt>>
beforeAll(async () => {
  database = await createDatabaseAt('0060-session-ends')
})
afterAll(() => database.drop())

const [ann, group, channel, parent] = [uuidv7(), uuidv7(), uuidv7(), uuidv7()]
let seq = 0

/** Stores a message with these mentions. Returns its id. */
async function stores(
  mentions: string[],
  { threadId = null as string | null, deletedAt = null as number | null } = {},
) {
  const id = uuidv7()
  await sql`insert into messages (id, channel_id, thread_id, seq, author_id, content, mentions, created_at, deleted_at)
    values (${id}, ${channel}, ${threadId}, ${++seq}, ${ann}, '', ${mentions}, 1, ${deletedAt})`.execute(database.db)
  return id
}

test('after an upgrade the mentions of earlier and of later messages are known, also when the previous version sends them', async () => {
  const earlier = await stores([ann, `group:${group}`, '@channel', '@here'])
  const reply = await stores(['@channel', ann], { threadId: parent })
  await stores([ann], { deletedAt: 2 })
  await migrate(database.db)
  const later = await stores([ann, '@here', '@of-a-later-version'])
  const edited = await stores([])
  await sql`update messages set mentions = ${[ann]} where id = ${edited}`.execute(database.db)
  await sql`update messages set mentions = ${[ann, `group:${group}`]} where id = ${edited}`.execute(database.db)

  const rows = await database.db.selectFrom('mentions').selectAll().orderBy('targetId').orderBy('messageId').execute()
  const targets = (targetId: string, messageIds: string[]) => messageIds.map((messageId) => ({ targetId, messageId }))
  expect(rows).toEqual([
    ...targets(ann, [earlier, reply, later, edited]),
    ...targets(group, [earlier, edited]),
    ...targets(channel, [earlier, later]),
  ])
})

test('an edit that keeps a mention does not wait for the migration that adds it', async () => {
  const { db, id } = await beforeEarlierMentions()
  const migration = await db.startTransaction().execute()
  onTestFinished(async () => {
    if (!migration.isCommitted) await migration.rollback().execute()
  })
  await addEarlierMentions(migration)
  await db.transaction().execute(async (trx) => {
    await sql`set local lock_timeout = 1000`.execute(trx)
    await sql`update messages set mentions = ${[ann, group]} where id = ${id}`.execute(trx)
  })
  await migration.commit().execute()

  const rows = await db.selectFrom('mentions').select('targetId').where('messageId', '=', id).execute()
  expect(rows.map(({ targetId }) => targetId).sort()).toEqual([ann, group].sort())
})

test('no statement adds the mentions of more than 20,000 messages, because a statement has a time limit', async () => {
  const { db } = await beforeEarlierMentions()
  await sql`insert into messages (id, channel_id, seq, author_id, content, mentions, created_at)
    select gen_random_uuid(), ${channel}, 10 + n, ${ann}, '', ${[ann]}, 1 from generate_series(1, 40000) n`.execute(db)
  await sql`delete from mentions`.execute(db)
  await sql`create table statements (added bigint)`.execute(db)
  await sql`create function count_added() returns trigger language plpgsql as $$
    begin insert into statements select count(*) from added; return null; end $$`.execute(db)
  await sql`create trigger count_added after insert on mentions referencing new table as added
    for each statement execute function count_added()`.execute(db)
  await addEarlierMentions(db)

  const { rows } = await sql<{ most: number; sum: number }>`
    select max(added) as most, sum(added)::int as sum from statements`.execute(db)
  expect(rows).toEqual([{ most: 20_000, sum: 40_001 }])
})

/** A database in which later messages have their mentions, but earlier ones do not. It has one earlier message, which mentions ann. */
async function beforeEarlierMentions() {
  const { db, drop } = await createDatabaseAt('0061-mentions-of-people')
  onTestFinished(drop)
  const id = uuidv7()
  await sql`insert into messages (id, channel_id, seq, author_id, content, mentions, created_at)
    values (${id}, ${channel}, 1, ${ann}, '', ${[ann]}, 1)`.execute(db)
  await sql`delete from mentions`.execute(db)
  return { db, id }
}

/** Runs the migration in this database or transaction. */
const addEarlierMentions = (db: Database) => up(db as unknown as Kysely<unknown>)
