import { callerOf, everyStatistics, largeDatabase, rowId, sqlRowId } from '@parley/test'
import { describe, expect, test } from 'vitest'
import { channel, insertPrivateChannels, user } from '../private-channels.testing.ts'
import { listSaved, savedIds } from './saved.queries.ts'

const messages = 10_000
const channels = 50

const message = 3

const caller = callerOf(rowId(user, 1))

/** The caller has saved every second message. Every fifth channel is a private one that the caller has left. Others have saved all messages. */
const fill = (pool: ReturnType<typeof largeDatabase>['pool']) =>
  pool.query(`${insertPrivateChannels({ channels, leftEvery: 5 })}
    insert into messages (id, channel_id, seq, author_id, content, created_at)
    select ${sqlRowId(message)}, ${sqlRowId(channel, `n % ${channels}`)}, n, ${sqlRowId(user, '2')}, 'message ' || n, 1
    from generate_series(1, ${messages}) n;
    insert into saved_messages
    select ${sqlRowId(user, 'u')}, ${sqlRowId(message)} from generate_series(1, ${messages}) n, generate_series(1, 6) u
    where u > 1 or n % 2 = 0`)

describe.each(everyStatistics)('with %s', (statistics) => {
  const database = largeDatabase(fill, {
    statistics,
    async whileEmpty() {
      await page()
    },
  })

  const page = (options: object = {}) => listSaved(database.db, caller, { limit: 25, ...options })
  // 8 rows are looked up, because two of them cannot be read. A message also costs its channel and the membership. 5 whole messages are read.
  const works: [string, () => Promise<unknown>, number][] = [
    ['the newest saved messages', () => page({ limit: 5 }), 120],
    ['the ids of the newest saved messages', () => savedIds(database.db, caller, { limit: 5 }), 80],
    ['a page from the middle', () => page({ limit: 5, before: rowId(message, messages / 2) }), 120],
  ]

  test.each(works)('%s cost only the rows that they need', async (_what, work, most) => {
    for (let n = 0; n < 8; n++) await work()
    expect(await database.read(work)).toBeLessThanOrEqual(most)
  })

  test('the measured statement finds what it should', async () => {
    const { messages, hasMore } = await page()
    expect([messages.length, hasMore]).toEqual([25, true])
  })
})
