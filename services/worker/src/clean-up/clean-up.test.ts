import { BlobMissing, thumbnailKey } from '@parley/blobs'
import { roleName, uuidv7 } from '@parley/database'
import { createLogger } from '@parley/telemetry'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { worker } from '../service.ts'
import { eventually, workerEnvironment } from '../worker.testing.ts'
import { cleanUp } from './clean-up.ts'

const held = workerEnvironment()
const hourMs = 3_600_000
const now = 1_800_000_000_000

describe('cleaning up', () => {
  beforeEach(() =>
    held.database.pool.query(
      'truncate idempotency_keys, sessions, users, user_words, one_time_links, attempts, jobs, uploads, subscriptions, subscription_deliveries, app_responses cascade',
    ),
  )

  test('removes idempotency keys older than a day and no others', async () => {
    const { db } = held.database
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
    const { db } = held.database
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

  test('does its other steps when one of them fails', async () => {
    const { db, pool } = held.database
    await pool.query(`revoke delete on sessions from ${roleName('worker')}`)
    onTestFinished(async () => void (await pool.query(`grant delete on sessions to ${roleName('worker')}`)))
    const attempt = { subject: 'somebody', attemptedAt: [now - 2 * hourMs], lastAttemptAt: now - 2 * hourMs }
    await db
      .insertInto('attempts')
      .values({ kind: 'any', ...attempt })
      .execute()

    const lines: string[] = []
    const logger = createLogger({
      service: 'worker',
      level: 'error',
      destination: { write: (line) => lines.push(line) },
    })
    await cleanUp({ ...held.deps, logger, clock: () => now })
    expect(lines).toEqual([expect.stringContaining('"step":"sessions"')])
    expect(await db.selectFrom('attempts').select('kind').execute()).toEqual([])
  })

  test('removes the memberships of channels deleted a day ago', async () => {
    const { db, pool } = held.database
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

  test('removes expired links, expired counters, and jobs that failed a month ago', async () => {
    const { db } = held.database
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

  test('removes deliveries older than seven days, more than a batch of them, and expired addresses for answers', async () => {
    const { pool } = held.database
    const week = 7 * 24 * hourMs
    await pool.query(
      `insert into subscription_deliveries (id, subscription_id, event_id, type, attempt, status, duration_ms, created_at)
       select gen_random_uuid(), gen_random_uuid(), 'old.1', 'NEW_MESSAGE', 1, 200, 1, $1::bigint from generate_series(1, 6000)
       union all select gen_random_uuid(), gen_random_uuid(), 'young.1', 'NEW_MESSAGE', 1, 200, 1, $2::bigint`,
      [now - week - 1, now - week],
    )
    await pool.query(
      `insert into app_responses (id, secret_hash, bot_id, user_id, channel_id, uses_left, expires_at)
       select gen_random_uuid(), '', gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), uses_left, expires_at
       from (values (1, $1::bigint), (2, $2::bigint)) as v (uses_left, expires_at)`,
      [now - 1, now],
    )
    await cleanUp({ ...held.deps, clock: () => now })
    const deliveries = await pool.query('select event_id from subscription_deliveries')
    expect(deliveries.rows).toEqual([{ event_id: 'young.1' }])
    expect((await pool.query('select uses_left from app_responses')).rows).toEqual([{ uses_left: 2 }])
  })

  test('deletes event subscriptions of bots that were removed, and no others', async () => {
    const { db } = held.database
    for (const [name, removedAt] of [
      ['removed', 1],
      ['live', null],
    ] as const) {
      const botId = uuidv7()
      await db
        .insertInto('users')
        .values({ id: botId, userName: name, userNameKey: name, email: name, isBot: true, createdAt: 1, removedAt })
        .execute()
      const facts = { url: name, events: ['NEW_MESSAGE'], sealedSecret: '', epoch: 'a', pos: 1 }
      const row = { ...facts, id: uuidv7(), botId, createdBy: botId, createdAt: 1, updatedAt: 1 }
      await db.insertInto('subscriptions').values(row).execute()
    }
    await cleanUp({ ...held.deps, clock: () => now })
    const rows = await db.selectFrom('subscriptions').select(['url', 'deletedAt', 'updatedAt']).orderBy('url').execute()
    expect(rows).toEqual([
      { url: 'live', deletedAt: null, updatedAt: 1 },
      { url: 'removed', deletedAt: now, updatedAt: now },
    ])
  })

  test('removes uploads that no message has had for a day, and has their bytes deleted', async () => {
    const { db } = held.database
    const { blobs } = held.deps
    const filename = (name: string) => `${name}.txt`
    const messageId = uuidv7()
    for (const [name, idleSince] of [
      ['old', now - 24 * hourMs - 1],
      ['young', now - 24 * hourMs + 1],
      ['used', null],
    ] as const) {
      const facts = {
        kind: 'file',
        originalName: name,
        contentType: 'text/plain',
        size: 1,
        digest: Buffer.from(''),
      } as const
      const row = { ...facts, filename: filename(name), uploadedBy: uuidv7(), createdAt: 0, storedAt: 0, idleSince }
      await db.insertInto('uploads').values(row).execute()
      await blobs.put(filename(name), Buffer.from('x'), { size: 1, contentType: 'text/plain' })
    }
    await db
      .insertInto('messageUploads')
      .values({ filename: filename('used'), messageId })
      .execute()

    await cleanUp({ ...held.deps, clock: () => now })
    const left = await db.selectFrom('uploads').select('filename').orderBy('filename').execute()
    expect(left).toEqual([{ filename: 'used.txt' }, { filename: 'young.txt' }])
    const jobs = await db.selectFrom('jobs').select(['name', 'data']).execute()
    expect(jobs).toEqual([{ name: 'delete-blobs', data: { keys: ['old.txt', thumbnailKey('old.txt')] } }])

    const running = worker(held.deps)
    await running.start!()
    await eventually(() => expect(blobs.get('old.txt')).rejects.toThrow(BlobMissing))
    await running.stop!()
    await expect(blobs.get('young.txt')).resolves.toBeDefined()
  })
})
