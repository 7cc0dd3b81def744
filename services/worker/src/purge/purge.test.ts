import { type ChannelKind, uuidv7 } from '@parley/database'
import { createWorker } from '@parley/jobs'
import { beforeEach, describe, expect, test } from 'vitest'
import { eventually, workerEnvironment } from '../worker.testing.ts'
import { purgeChannel } from './purge.ts'

const held = workerEnvironment()
const reader = uuidv7()
const small = { batchSize: 7, batches: 2 }
const of = [
  'messages',
  'reactions',
  'threads',
  'thread_follows',
  'read_states',
  'channel_preferences',
  'read_folds',
  'webhooks',
  'channel_members',
  'channel_groups',
  'uploads',
] as const
const group = uuidv7()
let deleted: string
let live: string

/** 40 messages; 20 of the first have two reactions each, the third has 30 replies, one of them with a reaction. */
async function fill(kind: ChannelKind, deletedAt: number | null): Promise<string> {
  const { pool } = held.database
  const id = uuidv7()
  const insert = (text: string, values: unknown[] = [id]) => pool.query(text, values)
  await insert(
    `insert into channels (id, kind, name, name_key, created_at, deleted_at, last_seq) values ($1::uuid, $2, $4, $4, 1, $3, 40)`,
    [id, kind, deletedAt, id],
  )
  await insert(
    `insert into messages (id, channel_id, seq, content, created_at, deleted_at)
     select gen_random_uuid(), $1, n, 'text', n, case when n % 5 = 0 then n end from generate_series(1, 40) n`,
  )
  const ofThird = '(select id from messages where channel_id = $1 and thread_id is null and seq = 3)'
  await insert(
    `insert into messages (id, channel_id, thread_id, seq, content, created_at)
     select gen_random_uuid(), $1, ${ofThird}, n, 'reply', n from generate_series(1, 30) n`,
  )
  await insert(`insert into threads values (${ofThird}, 30, 30, 30, null, '{}')`)
  await insert(
    `insert into thread_follows select message_id, $2, $1, true, 30, 0, 30 from threads where message_id in ${ofThird}`,
    [id, reader],
  )
  await insert(
    `insert into reactions (message_id, reaction, user_id)
     select m.id, r, $2 from messages m, unnest(array['+1', '-1']) r
     where m.channel_id = $1 and (m.thread_id is null and m.seq <= 20 or m.thread_id is not null and m.seq = 30 and r = '+1')`,
    [id, reader],
  )
  await insert(
    `insert into uploads (filename, kind, original_name, content_type, size, digest, uploaded_by, created_at, stored_at)
     values ($1::text, 'file', 'a', 'text/plain', 1, '', $2, 1, 1)`,
    [id, reader],
  )
  await insert(
    `insert into message_uploads
     select m.id, $1::text from messages m where m.channel_id = $1::uuid and m.seq = 30`,
  )
  await insert('insert into read_states values ($2, $1, 3)', [id, reader])
  await insert('insert into channel_preferences values ($2, $1, true, false)', [id, reader])
  await insert('insert into read_folds values ($1, 3)')
  await insert(`insert into webhooks values (gen_random_uuid(), 'bot', $1, '', $2, 1, null, null)`, [id, reader])
  await insert('insert into channel_members values ($1, $2, 1)', [id, reader])
  await insert('insert into channel_groups values ($1, $2)', [id, group])
  return id
}

/** The number of rows that a channel has in each table. */
async function left(channelId: string): Promise<number[]> {
  const { pool } = held.database
  const of = (table: string) => `(select count(*) from ${table} where channel_id = $1)::int`
  const mine = `(select id from messages where channel_id = $1)`
  const { rows } = await pool.query(
    `select ${of('messages')} as messages,
       (select count(*) from reactions where message_id in ${mine})::int as reactions,
       (select count(*) from threads where message_id in ${mine})::int as threads, ${of('thread_follows')} as thread_follows,
       ${of('read_states')} as read_states, ${of('read_folds')} as read_folds, ${of('webhooks')} as webhooks,
       ${of('channel_preferences')} as channel_preferences, ${of('channel_groups')} as channel_groups, ${of('channel_members')} as channel_members`,
    [channelId],
  )
  return Object.values(rows[0])
}
const everything = [70, 41, 1, 1, 1, 1, 1, 1, 1, 1]
/** Memberships are deleted a day later. */
const nothing = [0, 0, 0, 0, 0, 0, 0, 0, 0, 1]

const recorded = async () =>
  (await held.database.db.selectFrom('jobs').select('data').orderBy('id').execute()).map(({ data }) => data)

beforeEach(async () => {
  const { pool } = held.database
  await pool.query(`truncate ${of.join(', ')}, channels, groups, users, user_words, jobs cascade`)
  await pool.query(
    `insert into users (id, user_name, user_name_key, email, created_at) values ($1, 'a', 'a', 'a', 1)`,
    [reader],
  )
  await pool.query(
    `insert into groups (id, handle, handle_key, handle_skeleton, name, source, created_at)
     values ($1, 'g', 'g', 'g', 'g', 'local', 1)`,
    [group],
  )
  deleted = await fill('public', 1)
  live = await fill('public', null)
})

describe('purging a deleted channel', () => {
  test('removes all its content and nothing else', async () => {
    const { db } = held.database
    expect([await left(deleted), await left(live)]).toEqual([everything, everything])
    await purgeChannel(held.deps, { channelId: deleted })
    expect([await left(deleted), await left(live)]).toEqual([nothing, everything])
    // Rows of deleted messages cannot be found through the messages any more. The remaining rows belong to the live
    // channel.
    expect(await db.selectFrom('reactions').select('messageId').execute()).toHaveLength(41)
    expect(await db.selectFrom('threads').select('messageId').execute()).toHaveLength(1)
    const uploads = await db.selectFrom('uploads').select('idleSince').orderBy('idleSince').execute()
    expect(uploads).toEqual([{ idleSince: expect.any(Number) }, { idleSince: null }])
    expect(await db.selectFrom('channels').select('id').where('id', '=', deleted).execute()).toHaveLength(1)
    expect(await recorded()).toEqual([])
  })

  test('continues after the previous job, with more replies than one transaction handles', async () => {
    const { db } = held.database
    await purgeChannel(held.deps, { channelId: deleted }, small)
    expect((await left(deleted))[0]).toBe(70 - 14)
    // The replies of the third message come first, seven at a time.
    expect(await recorded()).toEqual([{ channelId: deleted, afterSeq: 0 }])

    const reached: (number | undefined)[] = []
    for (let jobs = await recorded(); jobs.length > 0; jobs = await recorded()) {
      expect(jobs).toHaveLength(1)
      await db.deleteFrom('jobs').execute()
      const data = jobs[0] as { channelId: string; afterSeq?: number }
      reached.push(data.afterSeq)
      await purgeChannel(held.deps, data, small)
    }
    expect(reached).toEqual([0, 0, 14, 28, 40])
    expect([await left(deleted), await left(live)]).toEqual([nothing, everything])
  })

  test('may be repeated and done by several at once', async () => {
    const wide = { batchSize: 7, batches: 100 }
    await Promise.all([1, 2, 3].map(() => purgeChannel(held.deps, { channelId: deleted }, wide)))
    await purgeChannel(held.deps, { channelId: deleted }, wide)
    expect([await left(deleted), await left(live)]).toEqual([nothing, everything])
  })

  test.each([
    ['a live channel', () => live],
    ['an unknown one', () => uuidv7()],
    ['what is no id', () => 'nonsense'],
  ])('leaves %s alone', async (_what, channelId) => {
    await purgeChannel(held.deps, { channelId: channelId() })
    expect(await left(live)).toEqual(everything)
  })

  test('is done by the worker, job after job', async () => {
    const { config, db, logger, metrics, clock } = held.deps
    await held.database.db
      .insertInto('jobs')
      .values({ id: uuidv7(), name: 'purge-channel', data: JSON.stringify({ channelId: deleted }), createdAt: 1 })
      .execute()
    const worker = createWorker({
      queues: {
        'purge-channel': {
          handler: (data) => purgeChannel(held.deps, data, { batchSize: 20, batches: 2 }),
          attempts: 3,
          backoffMs: 10,
        },
      },
      db,
      redis: config.redis,
      logger,
      metrics,
      clock,
    })
    await eventually(async () => {
      expect(await left(deleted)).toEqual(nothing)
      expect(await recorded()).toEqual([])
    })
    await worker.stop()
    expect(await left(live)).toEqual(everything)
  })
})
