import { everyStatistics, largeDatabase } from '@parley/test'
import { describe, expect, test } from 'vitest'
import { listMentions } from './mentions.queries.ts'

const mentioned = 10_000
const channels = 50

/** Ids that are known before the rows are stored. */
const id = (kind: number, n: number) => `${kind}0000000-0000-7000-8000-${n.toString(16).padStart(12, '0')}`
const sqlId = (kind: number, n = 'n') => `('${kind}0000000-0000-7000-8000-' || lpad(to_hex(${n}), 12, '0'))::uuid`
const [user, channel, message, group] = [1, 2, 3, 4] as const

const caller = {
  userId: id(user, 1),
  sessionId: '',
  userName: 'reader',
  email: '',
  role: 'member' as const,
  isAdmin: false,
}

/**
 * Each message mentions the caller by name, or a group of theirs, or everybody in its channel, or somebody else. Every fifth channel is a private
 * one that the caller has left.
 */
const fill = (pool: ReturnType<typeof largeDatabase>['pool']) =>
  pool.query(`
    insert into users (id, user_name, user_name_key, email, created_at)
    select ${sqlId(user)}, 'user ' || n, 'user ' || n, n || '@example.com', 1 from generate_series(1, 2000) n;
    insert into channels (id, kind, name, name_key, created_at, last_seq)
    select ${sqlId(channel)}, 'private', 'channel ' || n, 'channel ' || n, 1, 200 from generate_series(0, ${channels - 1}) n;
    insert into channel_members
    select ${sqlId(channel)}, ${sqlId(user, 'u')}, 1 from generate_series(0, ${channels - 1}) n, generate_series(1, 40) u
    where u > 1 or n % 5 > 0;
    insert into groups (id, handle, handle_key, handle_skeleton, name, source, created_at)
    select ${sqlId(group)}, 'group ' || n, 'group ' || n, 'group ' || n, 'group ' || n, 'local', 1 from generate_series(1, 3) n;
    insert into group_members
    select ${sqlId(group)}, ${sqlId(user, 'u')}, 1 from generate_series(1, 3) n, generate_series(1, 40) u;
    insert into messages (id, channel_id, seq, author_id, content, mentions, created_at)
    select ${sqlId(message)}, ${sqlId(channel, `n % ${channels}`)}, n, ${sqlId(user, '2')}, 'message ' || n,
      array[case n % 4 when 0 then '${id(user, 1)}' when 1 then '@channel' when 2 then 'group:${id(group, 1)}' else '${id(user, 3)}' end], 1
    from generate_series(1, ${mentioned}) n`)

describe.each(everyStatistics)('with %s', (statistics) => {
  const database = largeDatabase(fill, {
    statistics,
    async whileEmpty() {
      await page()
    },
  })

  const page = (options: object = {}) => listMentions(database.db, caller, { limit: 25, ...options })
  // 26 messages are read of each target, and of each message the channel and the membership. More are read of the caller and of the group, because a
  // fifth of their messages are in channels that the caller has left.
  const works: [string, () => Promise<unknown>, number][] = [
    ['the newest mentions of somebody', () => page(), 2_600],
    ['a page from the middle', () => page({ before: id(message, mentioned / 2) }), 2_600],
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
      new Set([caller.userId, '@channel', `group:${id(group, 1)}`]),
    )
  })
})
