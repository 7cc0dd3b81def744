import { uuidv7 } from '@parley/database'
import { beforeEach, describe, expect, test } from 'vitest'
import { workshop } from '../worker.testing.ts'
import { cleanUp } from './clean-up.timer.ts'

const held = workshop()
const hourMs = 3_600_000
const now = 1_800_000_000_000

describe('cleaning up', () => {
  beforeEach(() => held.deps.pool.query('truncate idempotency_keys, sessions, users cascade'))

  test('removes idempotency keys older than a day and no others', async () => {
    const { db } = held.deps
    const key = (key: string, age: number) => ({
      userId: uuidv7(),
      key,
      requestHash: Buffer.from(''),
      answer: '{}',
      createdAt: now - age,
    })
    await db
      .insertInto('idempotencyKeys')
      .values([key('old', 24 * hourMs + 1), key('young', 24 * hourMs - 1)])
      .execute()
    await cleanUp({ ...held.deps, clock: () => now })
    expect(await db.selectFrom('idempotencyKeys').select('key').execute()).toEqual([{ key: 'young' }])
  })

  test('removes sessions that ended or expired a month ago, never live ones', async () => {
    const { db } = held.deps
    const userId = uuidv7()
    await db
      .insertInto('users')
      .values({ id: userId, userName: 'ann', userNameKey: 'ann', email: 'ann@example.com', createdAt: 0 })
      .execute()
    const month = 30 * 24 * hourMs
    const session = (ip: string, expiresAt: number, endedAt: number | null) => ({
      id: uuidv7(),
      userId,
      createdAt: 0,
      lastUsedAt: 0,
      expiresAt,
      endedAt,
      ip,
    })
    await db
      .insertInto('sessions')
      .values([
        session('live', now + hourMs, null),
        session('just ended', now + hourMs, now - hourMs),
        session('ended', now + hourMs, now - month - 1),
        session('expired', now - month - 1, null),
      ])
      .execute()
    await cleanUp({ ...held.deps, clock: () => now })
    const left = await db.selectFrom('sessions').select('ip').orderBy('ip').execute()
    expect(left).toEqual([{ ip: 'just ended' }, { ip: 'live' }])
  })
})
