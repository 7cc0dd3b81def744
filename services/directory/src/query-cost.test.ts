import { uuidv7 } from '@parley/database'
import type { PageRequest } from '@parley/service'
import { largeDatabase } from '@parley/test'
import { expect, test } from 'vitest'
import { listChannels } from './channels/channels.queries.ts'
import { listChannelMembers, listUsers, searchUsers } from './people/people.queries.ts'
import { listPresence } from './presence/presence.routes.ts'

/** One in ten of them has left. */
const people = 20_000
const channels = 8_000

let deep: { user: string; member: string; channel: string }
const someone = {
  userId: uuidv7(),
  sessionId: '',
  userName: 'someone',
  email: '',
  role: 'member' as const,
  isAdmin: false,
}
/** A member of two channels. */
const member = { ...someone, userId: uuidv7() }

const database = largeDatabase(async (pool) => {
  await pool.query(
    `insert into users (id, user_name, user_name_key, email, created_at, removed_at)
     select case n when 1 then $1 when 2 then $2 else gen_random_uuid() end, name, name, name || '@example.com', n,
       case when n % 10 = 0 then n end
     from generate_series(1, ${people}) n, lateral (select 'user' || lpad(n::text, 6, '0') as name)`,
    [someone.userId, member.userId],
  )
  await pool.query(`insert into presence (user_id, shown, last_seen, changed_by)
    select id, 'online', 1, pg_current_xact_id() from users where created_at % 2 = 0`)
  await pool.query(`insert into channels (id, kind, name, name_key, created_at)
    select gen_random_uuid(), 'public', name, name, n
    from generate_series(1, ${channels}) n, lateral (select 'channel' || lpad(n::text, 6, '0') as name)`)
  await pool.query('insert into channel_members select id, $1, 1 from channels', [someone.userId])
  await pool.query(`insert into channels (id, kind, name, name_key, created_at)
    select gen_random_uuid(), 'public', name, name, 0 from unnest(array['z small', 'z large']) name`)
  await pool.query(`insert into channel_members select c.id, $1, 1 from channels c where name like 'z %'`, [
    member.userId,
  ])
  await pool.query(`insert into channel_members select c.id, u.id, 1 from channels c, users u
    where c.name = 'z large' and removed_at is null and u.created_at <> 2`)
  await pool.query('insert into channel_preferences select user_id, channel_id, true, false from channel_members')
  const { rows } = await pool.query(
    `select (select id from users where created_at = ${people - 200}) as user,
       (select id from users order by id offset ${people - 200} limit 1) as member,
       (select id from channels where created_at = ${channels - 100}) as channel`,
  )
  deep = rows[0]
})

// The rows of a page, and one in ten more for people who have left, with the rows of each item: presence; members,
// messages and read state.
test.each<[string, (page: PageRequest) => Promise<string>, () => string, number]>([
  ['users', (page) => listUsers(database.db, someone, page), () => deep.user, 100],
  ['presence', (page) => listPresence(database.db, page), () => deep.member, 200],
  ['channels', (page) => listChannels(database.db, someone, page), () => deep.channel, 250],
])('a page of %s costs the same at the end as at the beginning', async (name, list, after, most) => {
  for (const page of [{ limit: 50 }, { limit: 50, after: after() }]) {
    const response = JSON.parse(await list(page))
    expect(response).toEqual({ [name]: expect.any(Array), hasMore: true })
    expect(response[name]).toHaveLength(50)
    const rows = await database.read(() => list(page))
    expect(rows).toBeGreaterThanOrEqual(50)
    expect(rows).toBeLessThanOrEqual(most)
  }
})

test('the cost of finding people and channels depends on the results, not on the total number', async () => {
  const channelOf = (name: string) =>
    database.db.selectFrom('channels').selectAll().where('name', '=', name).executeTakeFirstOrThrow()
  const [small, large] = [await channelOf('z small'), await channelOf('z large')]
  const names = async (search: Promise<string>) => {
    const [items] = Object.values(JSON.parse(await search)) as { userName?: string; name?: string }[][]
    return items!.map(({ userName, name }) => userName ?? name)
  }
  const searches: [string, () => Promise<string>, number, number][] = [
    ['one person', () => searchUsers(database.db, someone, { q: 'user00432', limit: 20 }), 9, 60],
    ['the first of everybody', () => searchUsers(database.db, someone, { q: 'user', limit: 20 }), 20, 160],
    [
      'the members of a small channel first',
      () => searchUsers(database.db, someone, { q: 'u', limit: 20, channel: small }),
      20,
      300,
    ],
    [
      'the members of a large channel first',
      () => searchUsers(database.db, someone, { q: 'u', limit: 20, channel: large }),
      20,
      300,
    ],
    [
      'the last members of a large channel',
      () => listChannelMembers(database.db, large, { q: 'user0199', limit: 20 }),
      20,
      200,
    ],
    ['a page of a small channel', () => listChannelMembers(database.db, small, { limit: 20 }), 1, 60],
    ['a page of a large channel', () => listChannelMembers(database.db, large, { limit: 20 }), 20, 200],
    ['one channel', () => listChannels(database.db, someone, { q: 'el00123', limit: 20 }), 10, 200],
    ['joined channels', () => listChannels(database.db, member, { scope: 'joined', members: false, limit: 20 }), 2, 60],
  ]
  for (const [what, search, count, most] of searches) {
    expect([what, (await names(search())).length]).toEqual([what, count])
    const rows = await database.read(search)
    expect({ what, rows, isCheap: rows <= most }).toEqual({ what, rows, isCheap: true })
  }
})

test('the count notices the cost of a full listing', async () => {
  expect(await database.read(() => listUsers(database.db, someone, {}))).toBeGreaterThanOrEqual(people * 0.9)
  expect(JSON.parse(await listUsers(database.db, someone, {})).users).toHaveLength(people * 0.9)
})
