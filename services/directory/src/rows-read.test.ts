import { uuidv7 } from '@parley/database'
import type { PageRequest } from '@parley/service'
import { largeDatabase } from '@parley/test'
import { expect, test } from 'vitest'
import { listChannels } from './channels/channels.queries.ts'
import { listUsers } from './people/people.queries.ts'
import { listPresence } from './presence/presence.queries.ts'

/** Of these one in ten has left. */
const people = 50_000
const channels = 20_000

let deep: { user: string; member: string; channel: string }
const someone = { userId: uuidv7(), sessionId: '', userName: 'someone', email: '', isAdmin: false }

const database = largeDatabase(async (pool) => {
  await pool.query(
    `insert into users (id, user_name, user_name_key, email, created_at, removed_at)
     select case n when 1 then $1 else gen_random_uuid() end, name, name, name || '@example.com', n,
       case when n % 10 = 0 then n end
     from generate_series(1, ${people}) n, lateral (select 'user' || lpad(n::text, 6, '0') as name)`,
    [someone.userId],
  )
  await pool.query(`insert into presence (user_id, shown, last_seen, changed_by)
    select id, 'online', 1, pg_current_xact_id() from users where created_at % 2 = 0`)
  await pool.query(`insert into channels (id, kind, name, name_key, created_at)
    select gen_random_uuid(), 'public', name, name, n
    from generate_series(1, ${channels}) n, lateral (select 'channel' || lpad(n::text, 6, '0') as name)`)
  await pool.query('insert into channel_members select id, $1, 1 from channels', [someone.userId])
  const { rows } = await pool.query(
    `select (select id from users where created_at = ${people - 200}) as user,
       (select id from users order by id offset ${people - 200} limit 1) as member,
       (select id from channels where created_at = ${channels - 100}) as channel`,
  )
  deep = rows[0]
})

// Of a page each item, one in ten more who have left, and what belongs to each: presence; members, messages and read state.
test.each<[string, (page: PageRequest) => Promise<string>, () => string, number]>([
  ['users', (page) => listUsers(database.db, page), () => deep.user, 100],
  ['presence', (page) => listPresence(database.db, page), () => deep.member, 200],
  ['channels', (page) => listChannels(database.db, someone, page), () => deep.channel, 250],
])('a page of %s costs the same at the end as at the beginning', async (name, list, after, most) => {
  for (const page of [{ limit: 50 }, { limit: 50, after: after() }]) {
    const reply = JSON.parse(await list(page))
    expect(reply).toEqual({ [name]: expect.any(Array), hasMore: true })
    expect(reply[name]).toHaveLength(50)
    const rows = await database.read(() => list(page))
    expect(rows).toBeGreaterThanOrEqual(50)
    expect(rows).toBeLessThanOrEqual(most)
  }
})

test('and the counting sees what the whole costs', async () => {
  expect(await database.read(() => listUsers(database.db, {}))).toBeGreaterThanOrEqual(people * 0.9)
  expect(JSON.parse(await listUsers(database.db, {})).users).toHaveLength(people * 0.9)
})
