import { callerOf, everyStatistics, largeDatabase, rowId, sqlRowId } from '@parley/test'
import { describe, expect, test } from 'vitest'
import { channel, insertPrivateChannels, user } from '../private-channels.testing.ts'
import { listMentions } from './mentions.queries.ts'

const mentioned = 10_000
const channels = 50

const [message, group] = [3, 4] as const

const caller = callerOf(rowId(user, 1))

/**
 * Each message mentions the caller by name, or a group of theirs, or everybody in its channel, or somebody else. Every fifth channel is a private
 * one that the caller has left.
 */
const fill = (pool: ReturnType<typeof largeDatabase>['pool']) =>
  pool.query(`${insertPrivateChannels({ channels, leftEvery: 5 })}
    insert into groups (id, handle, handle_key, handle_skeleton, name, source, created_at)
    select ${sqlRowId(group)}, 'group ' || n, 'group ' || n, 'group ' || n, 'group ' || n, 'local', 1 from generate_series(1, 3) n;
    insert into group_members
    select ${sqlRowId(group)}, ${sqlRowId(user, 'u')}, 1 from generate_series(1, 3) n, generate_series(1, 40) u;
    insert into messages (id, channel_id, seq, author_id, content, mentions, created_at)
    select ${sqlRowId(message)}, ${sqlRowId(channel, `n % ${channels}`)}, n, ${sqlRowId(user, '2')}, 'message ' || n,
      array[case n % 4 when 0 then '${rowId(user, 1)}' when 1 then '@channel' when 2 then 'group:${rowId(group, 1)}' else '${rowId(user, 3)}' end], 1
    from generate_series(1, ${mentioned}) n`)

describe.each(everyStatistics)('with %s', (statistics) => {
  const database = largeDatabase(fill, {
    statistics,
    async whileEmpty() {
      await page()
    },
  })

  const page = (options: object = {}) => listMentions(database.db, caller, { limit: 25, ...options })
  // One message of each of 22 targets is read, 6 of each of the 6 targets with the newest ones, and 5 whole ones. A message also costs its channel and
  // the membership.
  const works: [string, () => Promise<unknown>, number][] = [
    ['the newest mentions of somebody', () => page({ limit: 5 }), 320],
    ['a page from the middle', () => page({ limit: 5, before: rowId(message, mentioned / 2) }), 320],
  ]

  test.each(works)('%s cost only the rows that they need', async (_what, work, most) => {
    for (let n = 0; n < 8; n++) await work()
    expect(await database.read(work)).toBeLessThanOrEqual(most)
  })

  test('the measured statement finds what it should', async () => {
    const { messages, hasMore } = await page()
    expect(hasMore).toBe(true)
    expect(messages).toHaveLength(25)
    expect(new Set(messages.flatMap(({ mentions }) => mentions))).toEqual(
      new Set([caller.userId, '@channel', `group:${rowId(group, 1)}`]),
    )
  })
})
