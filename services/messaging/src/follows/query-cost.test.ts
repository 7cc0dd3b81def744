import { accessChannel } from '@parley/access'
import type { Transaction } from '@parley/database'
import { callerOf, everyStatistics, largeDatabase, rowId, sqlRowId } from '@parley/test'
import { describe, expect, test } from 'vitest'
import { channel, insertPrivateChannels, user } from '../private-channels.testing.ts'
import { countUnreadThreads, listFollowed } from './followed-threads.queries.ts'
import { findThreadReadState, markFollowedRead, raiseThreadReadSeq } from './follows.queries.ts'
import { removeFromFollows, updateFollows } from './reply-counts.queries.ts'

const followed = 10_000
/** One thread of so many has unread replies. */
const every = 201
const unread = Math.ceil(followed / every)
const channels = 50

const [message, reply] = [3, 4] as const

const caller = callerOf(rowId(user, 1))
/** The newest thread, which three people follow. */
const parentId = rowId(message, followed)

/**
 * The caller follows all threads, which are in private channels of theirs, and so do two others. Most have nothing unread. Every third channel
 * is one that the caller has left.
 */
const fill = (pool: ReturnType<typeof largeDatabase>['pool']) =>
  pool.query(`${insertPrivateChannels({ channels, leftEvery: 3 })}
    insert into messages (id, channel_id, seq, author_id, content, created_at)
    select ${sqlRowId(message)}, ${sqlRowId(channel, `n % ${channels}`)}, n, ${sqlRowId(user, '2')}, 'message ' || n, 1
    from generate_series(1, ${followed}) n;
    insert into messages (id, channel_id, thread_id, seq, author_id, content, created_at)
    select ${sqlRowId(reply)}, ${sqlRowId(channel, `n % ${channels}`)}, ${sqlRowId(message)}, 1, ${sqlRowId(user, '3')}, 'reply ' || n, n
    from generate_series(1, ${followed}) n;
    insert into threads (message_id, last_seq, reply_count, last_reply_at, last_reply_by, participants)
    select ${sqlRowId(message)}, 1, 1, n, ${sqlRowId(user, '3')}, array[${sqlRowId(user, '3')}]
    from generate_series(1, ${followed}) n;
    insert into thread_follows (message_id, user_id, channel_id, is_following, read_seq, unread_count, last_reply_at)
    select ${sqlRowId(message)}, ${sqlRowId(user, 'u')}, ${sqlRowId(channel, `n % ${channels}`)}, true, 1 - case when u = 1 and n % ${every} = 1 then 1 else 0 end,
      case when u = 1 and n % ${every} = 1 then 1 else 0 end, n
    from generate_series(1, ${followed}) n, generate_series(1, 3) u`)

describe.each(everyStatistics)('with %s', (statistics) => {
  const database = largeDatabase(fill, {
    statistics,
    async whileEmpty() {
      for (const [, work] of works) await work().catch(expectRefusal)
    },
  })

  const page = (options: object = {}) => listFollowed(database.db, caller, { limit: 25, isUnread: false, ...options })
  const works: [string, () => Promise<unknown>, number][] = [
    // A third of the threads are in channels that the person has left, so 39 entries have 26 threads.
    ['the newest threads of somebody', () => page(), 700],
    ['a page from the middle', () => page({ before: rowId(message, followed / 2) }), 700],
    ['the newest unread threads', () => page({ isUnread: true }), 700],
    ['the number of unread threads', () => countUnreadThreads(database.db, caller), unread + 4 * channels],
    ['the read state of a thread', () => findThreadReadState(database.db, caller.userId, thread), 10],
    ['reading a thread', () => database.db.transaction().execute((trx) => raiseThreadReadSeq(trx, read)), 30],
    ['reading all unread threads', () => undone((trx) => markFollowedRead(trx, caller, followed)), 20 * unread],
    ['a reply in a thread that three people follow', countReply, 80],
    [
      'a deleted reply of such a thread',
      () => undone((trx) => removeFromFollows(trx, { threadId: parentId, seq: 1 })),
      40,
    ],
  ]

  test.each(works)('%s costs only the rows that it needs', async (_what, work, most) => {
    for (let n = 0; n < 8; n++) await work()
    expect(await database.read(work)).toBeLessThanOrEqual(most)
  })

  test('the measured statements find what they should', async () => {
    const { threads, hasMore } = await page()
    expect({ threads: threads.length, hasMore }).toEqual({ threads: 25, hasMore: true })
    expect((await page({ isUnread: true })).threads.every(({ unreadCount }) => unreadCount === 1)).toBe(true)
    expect(await countUnreadThreads(database.db, caller)).toBeGreaterThan(unread / 2)
    expect(await countReply()).toHaveLength(3)
    expect(await undone((trx) => markFollowedRead(trx, caller, followed))).toHaveLength(
      await countUnreadThreads(database.db, caller),
    )
  })

  const thread = { id: parentId, channelId: rowId(channel, 0) }
  const read = { messageId: rowId(message, 5), userId: caller.userId, readSeq: 1 }

  /** Runs statements and takes back their changes, so that the next run finds the same rows. */
  async function undone<Result>(work: (trx: Transaction) => Promise<Result>): Promise<Result> {
    const trx = await database.db.startTransaction().execute()
    try {
      return await work(trx)
    } finally {
      await trx.rollback().execute()
    }
  }

  function countReply() {
    return database.db.transaction().execute(async (trx) => {
      const place = await accessChannel(trx, { ...caller, userId: rowId(user, 2) }, rowId(channel, 0), { lock: true })
      const changes = await updateFollows(trx, place, {
        parentId,
        seq: 2,
        createdAt: followed,
        authorId: rowId(user, 2),
        mentions: [rowId(user, 4)],
      })
      return changes
    })
  }
})

/** The database is still empty, so access is refused, and no cursor is found. The statements have run nevertheless. */
function expectRefusal(error: { status?: number }) {
  expect([400, 404]).toContain(error.status)
}
