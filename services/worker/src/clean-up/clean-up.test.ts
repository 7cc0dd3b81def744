import { uuidv7 } from '@parley/database'
import { beforeEach, describe, expect, test } from 'vitest'
import { workshop } from '../worker.testing.ts'
import { cleanUp } from './clean-up.timer.ts'

const held = workshop()
const hourMs = 3_600_000
const now = 1_800_000_000_000

describe('cleaning up', () => {
  beforeEach(() =>
    held.deps.pool.query('truncate idempotency_keys, sessions, users, one_time_links, attempts, jobs cascade'),
  )

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

  test('removes the memberships of channels deleted a day ago', async () => {
    const { db, pool } = held.deps
    const userId = uuidv7()
    await pool.query(
      `insert into users (id, user_name, user_name_key, email, created_at) values ($1, 'a', 'a', 'a', 1)`,
      [userId],
    )
    const channel = async (name: string, deletedAt: number | null) => {
      const id = uuidv7()
      await db
        .insertInto('channels')
        .values({ id, kind: 'private', name, nameKey: name, createdAt: 1, deletedAt })
        .execute()
      await db.insertInto('channelMembers').values({ channelId: id, userId, joinedAt: 1 }).execute()
      return id
    }
    await channel('old', now - 24 * hourMs - 1)
    const kept = [await channel('just deleted', now - 24 * hourMs + 1), await channel('live', null)]

    await cleanUp({ ...held.deps, clock: () => now })
    const left = await db.selectFrom('channelMembers').select('channelId').orderBy('channelId').execute()
    expect(left.map(({ channelId }) => channelId)).toEqual(kept.sort())
  })

  test('removes links that work no more, counters that count no more, and jobs given up a month ago', async () => {
    const { db } = held.deps
    const link = (email: string, expiresAt: number) => ({
      email,
      purpose: 'login' as const,
      tokenHash: Buffer.from(''),
      userId: null,
      expiresAt,
    })
    await db
      .insertInto('oneTimeLinks')
      .values([link('old', now - 1), link('young', now + hourMs)])
      .execute()
    const attempts = (subject: string, at: number) => ({
      kind: 'mail',
      subject,
      attemptedAt: [at],
      lastAttemptAt: at,
    })
    await db
      .insertInto('attempts')
      .values([attempts('old', now - hourMs - 1), attempts('young', now - hourMs / 4)])
      .execute()
    const job = (name: string, failedAt: number | null) => ({ id: uuidv7(), name, data: '{}', createdAt: 0, failedAt })
    await db
      .insertInto('jobs')
      .values([job('dead', now - 30 * 24 * hourMs - 1), job('just dead', now - hourMs), job('alive', null)])
      .execute()

    await cleanUp({ ...held.deps, clock: () => now })
    expect(await db.selectFrom('oneTimeLinks').select('email').execute()).toEqual([{ email: 'young' }])
    expect(await db.selectFrom('attempts').select('subject').execute()).toEqual([{ subject: 'young' }])
    const jobs = await db.selectFrom('jobs').select('name').orderBy('name').execute()
    expect(jobs).toEqual([{ name: 'alive' }, { name: 'just dead' }])
  })
})
