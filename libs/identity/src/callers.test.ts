import { uuidv7 } from '@parley/database'
import { createDatabase, type TestDatabase } from '@parley/test'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createSharedCallers } from './callers.ts'
import type { AccessClaims } from './tokens.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase()
})
afterAll(() => database.drop())

async function signIn(): Promise<Omit<AccessClaims, 'isGenuine'>> {
  const [userId, sessionId] = [uuidv7(), uuidv7()]
  const now = Date.now()
  const expiresAt = now + 60_000
  await database.db
    .insertInto('users')
    .values({ id: userId, userName: userId, userNameKey: userId, email: `${userId}@example.org`, createdAt: now })
    .execute()
  await database.db
    .insertInto('sessions')
    .values({ id: sessionId, userId, createdAt: now, lastUsedAt: now, expiresAt })
    .execute()
  return { userId, sessionId, expiresAt }
}

test('each of many concurrent callers gets their own result', async () => {
  const callers = createSharedCallers(database.as('realtime').db, Date.now)
  const [ann, bob, cem, dan] = await Promise.all([signIn(), signIn(), signIn(), signIn()])
  await database.db.updateTable('sessions').set({ endedAt: Date.now() }).where('id', '=', bob.sessionId).execute()
  await database.db.updateTable('users').set({ removedAt: Date.now() }).where('id', '=', cem.userId).execute()

  const asked = [ann, ann, bob, cem, { ...dan, userId: ann.userId }, { ...dan, sessionId: uuidv7() }, dan]
  const answers = await Promise.allSettled(asked.map((claims) => callers.find(claims)))

  const found = (claims: Pick<AccessClaims, 'userId' | 'sessionId'>) => ({
    status: 'fulfilled',
    value: expect.objectContaining({ userId: claims.userId, sessionId: claims.sessionId, isAdmin: false }),
  })
  const refused = { status: 'rejected', reason: expect.objectContaining({ status: 401 }) }
  expect(answers).toEqual([found(ann), found(ann), refused, refused, refused, refused, found(dan)])
})

test('without a result nobody is accepted, and the next callers are looked up again', async () => {
  const ann = await signIn()
  const callers = createSharedCallers(database.as('realtime').db, Date.now)
  await database.db.schema.alterTable('sessions').renameTo('sessions_away').execute()
  const failed = await Promise.allSettled([callers.find(ann), callers.find(ann)])
  await database.db.schema.alterTable('sessions_away').renameTo('sessions').execute()
  expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(await callers.find(ann)).toMatchObject({ userId: ann.userId })
})
