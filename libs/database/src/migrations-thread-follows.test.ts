import { migrate, uuidv7 } from '@parley/database'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDatabaseAt } from './earlier-schema.testing.ts'

let database: Awaited<ReturnType<typeof createDatabaseAt>>
beforeAll(async () => {
  database = await createDatabaseAt('0056-names-without-accents')
})
afterAll(() => database.drop())

const [ann, bob, bot, gone, channel] = [uuidv7(), uuidv7(), uuidv7(), uuidv7(), uuidv7()]
const [talk, deleted, ofBot] = [uuidv7(), uuidv7(), uuidv7()]

async function fill() {
  const { db } = database
  for (const [id, isBot, removedAt] of [
    [ann, false, null],
    [bob, false, null],
    [bot, true, null],
    [gone, false, 1],
  ] as const) {
    await sql`insert into users (id, user_name, user_name_key, email, created_at, is_bot, removed_at)
      values (${id}, ${id}, ${id}, ${id}, 1, ${isBot}, ${removedAt})`.execute(db)
  }
  for (const [seq, [id, authorId, deletedAt]] of (
    [
      [talk, ann, null],
      [deleted, ann, 1],
      [ofBot, bot, null],
    ] as const
  ).entries()) {
    await sql`insert into messages (id, channel_id, seq, author_id, content, created_at, deleted_at)
      values (${id}, ${channel}, ${seq}, ${authorId}, '', 1, ${deletedAt})`.execute(db)
    await sql`insert into threads (message_id, last_seq, reply_count, last_reply_at, last_reply_by, participants)
      values (${id}, 5, 3, 9, ${bob}, ${[bob, bot, gone]}::uuid[])`.execute(db)
  }
}

test('after an upgrade the participants of threads follow them and have read everything', async () => {
  await fill()
  await migrate(database.db)

  const follow = { isFollowing: true, readSeq: 5, unreadCount: 0, lastReplyAt: 9, channelId: channel }
  const { db } = database
  const rows = await db.selectFrom('threadFollows').selectAll().orderBy('messageId').orderBy('userId').execute()
  expect(rows).toEqual([
    { messageId: talk, userId: ann, ...follow },
    { messageId: talk, userId: bob, ...follow },
    { messageId: ofBot, userId: bob, ...follow },
  ])

  await db.deleteFrom('threads').where('messageId', '=', talk).execute()
  expect(await db.selectFrom('threadFollows').select('messageId').execute()).toEqual([{ messageId: ofBot }])
})
