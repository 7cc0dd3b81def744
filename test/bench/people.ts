import { uuidv7 } from '@parley/database'
import { createTokens, type Tokens } from '@parley/identity'
import { sql } from 'kysely'
import type { Stores } from './stores.ts'

export interface Signed {
  userId: string
  userName: string
  token: string
}

const daySeconds = 86_400
const rowsAtOnce = 1_000

/** Writes people, each with a valid session, directly into the database, unless an earlier run has done so. */
export async function seedPeople(stores: Stores, count: number): Promise<Signed[]> {
  const {
    database: { db },
    jwtSecret,
  } = stores
  const now = Date.now()
  const tokens = createTokens({ secrets: [jwtSecret], issuer: 'parley', clock: Date.now })
  const people: Signed[] = await findPeople(stores, tokens)
  if (people.length >= count) return people.slice(0, count)
  if (people.length > 0)
    throw new Error(`${people.length} people are kept here, ${count} are needed: use another --data`)
  for (const size of slices(count)) {
    const some = Array.from({ length: size }, () => ({ id: uuidv7(), sessionId: uuidv7() }))
    await db
      .insertInto('users')
      .values(
        some.map(({ id }) => ({
          id,
          userName: `p-${id}`,
          userNameKey: `p-${id}`,
          email: `${id}@bench.test`,
          autoJoined: true,
          createdAt: now,
        })),
      )
      .execute()
    await db
      .insertInto('sessions')
      .values(
        some.map(({ id, sessionId }) => ({
          id: sessionId,
          userId: id,
          createdAt: now,
          lastUsedAt: now,
          expiresAt: now + daySeconds * 1000,
        })),
      )
      .execute()
    for (const { id, sessionId } of some) {
      const token = await tokens.issueAccess({ userId: id, sessionId, seconds: daySeconds })
      people.push({ userId: id, userName: `p-${id}`, token })
    }
  }
  return people
}

async function findPeople({ database: { db } }: Stores, tokens: Tokens): Promise<Signed[]> {
  const found = await db
    .selectFrom('users')
    .innerJoin('sessions', 'sessions.userId', 'users.id')
    .select(['users.id as userId', 'userName', 'sessions.id as sessionId'])
    .where('email', 'like', '%@bench.test')
    .orderBy('users.id')
    .execute()
  const sessionIds = found.map(({ sessionId }) => sessionId)
  // A session from an earlier run may be older than a day.
  if (found.length > 0)
    await sql`update sessions set expires_at = ${Date.now() + daySeconds * 1000} where id = any(${sessionIds}::uuid[])`.execute(
      db,
    )
  return Promise.all(
    found.map(async ({ userId, userName, sessionId }) => ({
      userId,
      userName,
      token: await tokens.issueAccess({ userId, sessionId, seconds: daySeconds }),
    })),
  )
}

/** Creates public channels; returns their ids. */
export async function seedChannels({ database: { db } }: Stores, count: number): Promise<string[]> {
  const kept = await db.selectFrom('channels').select('id').where('name', 'like', 'c-%').orderBy('id').execute()
  if (kept.length >= count) return kept.slice(0, count).map(({ id }) => id)
  const now = Date.now()
  const ids: string[] = []
  for (const size of slices(count)) {
    const some = Array.from({ length: size }, () => uuidv7())
    await db
      .insertInto('channels')
      .values(some.map((id) => ({ id, kind: 'public' as const, name: `c-${id}`, nameKey: `c-${id}`, createdAt: now })))
      .execute()
    ids.push(...some)
  }
  // Autovacuum would do this within its first minute; until then PostgreSQL plans queries as if the tables were empty.
  await sql`analyze`.execute(db)
  return ids
}

/** Makes people members of channels, unless they are members already. */
export async function seedMembers(
  { database: { pool } }: Pick<Stores, 'database'>,
  members: readonly { author: Signed; channelId: string }[],
): Promise<void> {
  await pool.query(
    `insert into channel_members (channel_id, user_id, joined_at)
     select channel_id, user_id, $3 from unnest($1::uuid[], $2::uuid[]) as m (channel_id, user_id) on conflict do nothing`,
    [members.map(({ channelId }) => channelId), members.map(({ author }) => author.userId), Date.now()],
  )
}

const slices = (count: number) =>
  Array.from({ length: Math.ceil(count / rowsAtOnce) }, (_, index) => Math.min(rowsAtOnce, count - index * rowsAtOnce))
