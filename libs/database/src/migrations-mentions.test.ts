import { migrate, uuidv7 } from '@parley/database'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDatabaseAt } from './earlier-schema.testing.ts'

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
