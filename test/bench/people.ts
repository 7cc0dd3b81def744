import { uuidv7 } from '@parley/database'
import { createTokens } from '@parley/identity'
import { sql } from 'kysely'
import type { Foundation } from './foundation.ts'

export interface Signed {
  userId: string
  userName: string
  token: string
}

const daySeconds = 86_400
const rowsAtOnce = 1_000

/** People with a live session each, put straight into the database. */
export async function seedPeople({ database: { db }, jwtSecret }: Foundation, count: number): Promise<Signed[]> {
  const now = Date.now()
  const tokens = createTokens({ secrets: [jwtSecret], issuer: 'parley', clock: Date.now })
  const people: Signed[] = []
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

/** Public channels; answers their ids. */
export async function seedChannels({ database: { db } }: Foundation, count: number): Promise<string[]> {
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
  // As autovacuum does within its first minute: until then PostgreSQL plans for empty tables.
  await sql`analyze`.execute(db)
  return ids
}

const slices = (count: number) =>
  Array.from({ length: Math.ceil(count / rowsAtOnce) }, (_, index) => Math.min(rowsAtOnce, count - index * rowsAtOnce))
