import { migrate, uuidv7 } from '@parley/database'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDatabaseAt } from './earlier-schema.testing.ts'

let database: Awaited<ReturnType<typeof createDatabaseAt>>
beforeAll(async () => {
  database = await createDatabaseAt('0022-unattached-uploads')
})
afterAll(() => database.drop())

const [ann, bob, gone] = [uuidv7(), uuidv7(), uuidv7()]
const channels = { General: uuidv7(), open: uuidv7(), closed: uuidv7(), conversation: uuidv7() }

async function fill() {
  const { db } = database
  for (const [id, removedAt] of [
    [ann, null],
    [bob, null],
    [gone, 1],
  ] as const) {
    await sql`insert into users (id, user_name, user_name_key, email, created_at, removed_at)
      values (${id}, ${id}, ${id}, ${id}, 1, ${removedAt})`.execute(db)
  }
  const kinds = { General: 'public', open: 'public', closed: 'private', conversation: 'direct' }
  for (const [name, id] of Object.entries(channels)) {
    await sql`insert into channels (id, kind, name, name_key, created_at)
      values (${id}, ${kinds[name as keyof typeof kinds]}, ${name}, ${name.toLowerCase()}, 1)`.execute(db)
  }
  await sql`insert into channel_members (channel_id, user_id, joined_at) values
    (${channels.General}, ${ann}, 1), (${channels.closed}, ${ann}, 1),
    (${channels.conversation}, ${ann}, 1), (${channels.conversation}, ${bob}, 1)`.execute(db)
  const posts = [
    [channels.open, bob, null],
    [channels.open, bob, null],
    [channels.open, gone, null],
    [channels.open, ann, uuidv7()],
    [channels.closed, bob, null],
  ]
  for (const [seq, [channelId, authorId, threadId]] of posts.entries()) {
    await sql`insert into messages (id, channel_id, thread_id, seq, author_id, content, created_at)
      values (${uuidv7()}, ${channelId}, ${threadId}, ${seq}, ${authorId}, '', 1)`.execute(db)
  }
}

test('an upgrade makes everybody a member of General, makes authors members of their public channels, and counts members', async () => {
  await fill()
  await migrate(database.db)

  const members = await sql<{ name: string; memberCount: number; members: string[] }>`
    select name, member_count as "memberCount", array(
      select user_id::text from channel_members m where m.channel_id = c.id order by user_id) as members
    from channels c order by name_key`.execute(database.db)
  expect(members.rows).toEqual([
    { name: 'closed', memberCount: 1, members: [ann] },
    { name: 'conversation', memberCount: 0, members: [ann, bob] },
    { name: 'General', memberCount: 2, members: [ann, bob] },
    { name: 'open', memberCount: 2, members: [ann, bob] },
  ])
})
