import { record, uuidv7 } from '@parley/database'
import { createRelay } from '@parley/events'
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { purgeChannel } from '../purge/purge.ts'
import { eventually, workerEnvironment } from '../worker.testing.ts'
import { endOfIds, project, rereadLostMessages } from './projection.queries.ts'
import { projectNext } from './projection.ts'
import { startProjector } from './projector.ts'

const held = workerEnvironment()
const sizes = { batchSize: 3, segmentSize: 4 }
const channelId = uuidv7()
let relay: ReturnType<typeof createRelay>

beforeEach(async () => {
  const { pool, config, logger, metrics } = held.deps
  const owner = held.database.pool
  await owner.query('truncate messages, message_search, channels, channel_members cascade')
  await owner.query(`insert into channels (id, kind, name, name_key, created_at) values ($1, 'public', 'a', 'a', 1)`, [
    channelId,
  ])
  relay = createRelay({
    pool,
    redis: config.redis,
    logger,
    metrics,
    events: config.events,
    holder: uuidv7(),
  })
  relay.start()
  await relayed()
  await projectAll()
})
afterEach(() => relay.stop())

let seq = 0
async function says(content: string, more: object = {}): Promise<string> {
  const { db } = held.database
  const { clock } = held.deps
  const id = uuidv7()
  await db
    .insertInto('messages')
    .values({ id, channelId, seq: ++seq, content, createdAt: clock(), ...more })
    .execute()
  await tell('NEW_MESSAGE', id)
  return id
}

/** Records an event of the message; only its id matters here. */
const tell = (type: 'NEW_MESSAGE' | 'UPDATE_MESSAGE' | 'DELETE_MESSAGE', id: string) =>
  held.database.db.transaction().execute((trx) =>
    record(trx, {
      type,
      payload: { id, channelId } as never,
      routing: { to: 'channel', channel: channelId, version: 1 },
    }),
  )

const relayed = () =>
  eventually(async () => {
    const { rows } = await held.database.pool.query(
      'select (select coalesce(max(id), 0) from outbox) <= (select low_id from relay_lease) as all',
    )
    expect(rows[0].all).toBe(true)
  })

async function projectAll() {
  while ((await projectNext(held.deps.db, sizes)).more);
}

async function copies(): Promise<[string, string][]> {
  const rows = await held.database.db
    .selectFrom('messageSearch')
    .select(['messageId', 'folded'])
    .orderBy('createdAt')
    .orderBy('messageId')
    .execute()
  return rows.map(({ messageId, folded }) => [messageId, folded])
}

const progress = () => held.database.db.selectFrom('searchProgress').selectAll().executeTakeFirstOrThrow()

describe('the projection of search', () => {
  test('follows sends, edits and deletions, with the replies of a parent', async () => {
    const { db } = held.database
    const [kept, edited, parent] = [await says('Kept'), await says('Edited'), await says('Parent')]
    await says('Reply', { threadId: parent, seq: 1 })
    await relayed()
    await projectAll()
    expect((await copies()).map(([, folded]) => folded).sort()).toEqual(['edited', 'kept', 'parent', 'reply'])

    await db.updateTable('messages').set({ content: 'Changed' }).where('id', '=', edited).execute()
    await tell('UPDATE_MESSAGE', edited)
    await db
      .updateTable('messages')
      .set({ content: '', deletedAt: 1 })
      .where((where) => where.or([where('id', '=', parent), where('threadId', '=', parent)]))
      .execute()
    await tell('DELETE_MESSAGE', parent)
    await relayed()
    await projectAll()
    expect(await copies()).toEqual([
      [kept, 'kept'],
      [edited, 'changed'],
    ])
  })

  test('shows the outbox row up to which it is complete, never more', async () => {
    const { pool } = held.database
    for (let n = 0; n < 8; n++) await says(`message ${n}`)
    await relayed()
    for (let more = true; more; ) {
      more = (await projectNext(held.deps.db, sizes)).more
      const { seenId } = await progress()
      const { rows } = await pool.query(
        `select o.id from outbox o join messages m on m.id = (o.event::json #>> '{payload,id}')::uuid
         where o.id <= $1 and m.deleted_at is null and not exists (select from message_search s where s.message_id = m.id)`,
        [seenId],
      )
      expect(rows).toEqual([])
    }
    const { rows } = await pool.query('select max(id) as newest from outbox')
    await eventually(async () => {
      await projectNext(held.deps.db, sizes)
      expect((await progress()).seenId).toBeGreaterThanOrEqual(rows[0].newest)
    })
  })

  test('a message that is committed late is not skipped', async () => {
    const { db } = held.database
    const late = uuidv7()
    let commit = () => {}
    let written = () => {}
    const isWritten = new Promise<void>((resolve) => {
      written = resolve
    })
    const committed = db.transaction().execute(async (trx) => {
      await trx
        .insertInto('messages')
        .values({ id: late, channelId, seq: ++seq, content: 'late', createdAt: 1 })
        .execute()
      await record(trx, {
        type: 'NEW_MESSAGE',
        payload: { id: late } as never,
        routing: { to: 'channel', channel: channelId, version: 1 },
      })
      await new Promise<void>((resolve) => {
        commit = resolve
        written()
      })
    })
    await isWritten
    const early = await says('early')
    await eventually(async () => {
      await projectAll()
      expect(await copies()).toEqual([[early, 'early']])
    })
    commit()
    await committed
    await eventually(async () => {
      await projectAll()
      expect(await copies()).toEqual([
        [late, 'late'],
        [early, 'early'],
      ])
    })
  })

  test('reads old messages, newest first, and changes that happen meanwhile', async () => {
    const { db } = held.database
    const ids: string[] = []
    for (let n = 0; n < 10; n++) ids.push(await says(`message ${n}`))
    await relayed()
    await projectAll()
    await db.deleteFrom('messageSearch').execute()
    await db.updateTable('searchProgress').set({ unreadBelow: endOfIds }).execute()

    await projectNext(held.deps.db, sizes)
    expect((await copies()).map(([id]) => id)).toEqual(ids.slice(-3))
    expect((await progress()).unreadBelow).toBe(ids.at(-3))
    await db.updateTable('messages').set({ content: 'edited' }).where('id', 'in', [ids[0]!, ids[9]!]).execute()
    await tell('UPDATE_MESSAGE', ids[0]!)
    await tell('UPDATE_MESSAGE', ids[9]!)
    await relayed()
    await projectAll()
    expect(await copies()).toEqual(ids.map((id, n) => [id, n % 9 === 0 ? 'edited' : `message ${n}`]))
    expect((await progress()).unreadBelow).toBeNull()
  })

  test('when the relay deletes rows that it has not read, it reads all messages again, and not otherwise', async () => {
    const id = await says('not read yet')
    await relayed()
    const { slot } = await held.database.db.selectFrom('outboxRing').select('slot').executeTakeFirstOrThrow()
    const empty = async () => {
      const client = await held.deps.pool.connect()
      await rereadLostMessages(client, `outbox_${slot}`)
      client.release()
    }

    await empty()
    expect((await progress()).unreadBelow).toBe(endOfIds)
    await projectAll()
    expect(await copies()).toEqual([[id, 'not read yet']])
    await empty()
    expect((await progress()).unreadBelow).toBeNull()
  })

  test('when events were deleted before it read them, it reads all messages again', async () => {
    const { db, pool } = held.database
    const id = await says('old')
    await relayed()
    await projectAll()
    await db.updateTable('messages').set({ content: 'new' }).where('id', '=', id).execute()
    await tell('UPDATE_MESSAGE', id)
    await relayed()
    await pool.query('delete from outbox')
    await projectAll()
    expect(await copies()).toEqual([[id, 'new']])
  })

  test('several at once do the same work as one', async () => {
    const ids: string[] = []
    for (let n = 0; n < 9; n++) ids.push(await says('one of many'))
    await relayed()
    await Promise.all([1, 2, 3].map(() => projectAll()))
    await projectAll()
    expect((await copies()).map(([id]) => id)).toEqual(ids)
  })

  test('keeps nothing of a channel that is deleted and purged while a step has its messages', async () => {
    const { db, pool } = held.database
    await says('gone')
    await relayed()
    // Blocks the step after it has inserted its copies and before it commits.
    const holder = await pool.connect()
    await holder.query('begin')
    await holder.query('lock table search_segments in share mode')
    const waiting = (count: number) =>
      eventually(async () => {
        const { rows } = await pool.query(
          `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
        )
        expect(rows).toHaveLength(count)
      })
    const step = projectAll()
    await waiting(1)
    await db.updateTable('channels').set({ deletedAt: 1 }).execute()
    let purged = false
    const purge = purgeChannel({ db, clock: Date.now }, { channelId }).then(() => {
      purged = true
    })
    await Promise.race([purge, waiting(2)])
    await holder.query('rollback')
    holder.release()
    await Promise.all([step, purge])
    expect([purged, await copies()]).toEqual([true, []])
  })

  test('keeps nothing of a purged channel', async () => {
    const { db } = held.database
    await says('gone')
    await relayed()
    await projectAll()
    expect(await copies()).toHaveLength(1)
    await db.updateTable('channels').set({ deletedAt: 1 }).execute()
    await purgeChannel({ db, clock: Date.now }, { channelId })
    expect(await copies()).toEqual([])
  })
})

test('the projector continues although PostgreSQL ends a statement for many long texts', async () => {
  const { pool } = held.database
  await pool.query(
    `create function end_long_statement() returns trigger language plpgsql as $$ begin
       if (select count(*) from added) > 40 then
         raise 'canceling statement due to statement timeout' using errcode = 'query_canceled';
       end if;
       return null;
     end $$;
     create trigger end_long_statement after insert on message_search referencing new table as added
       for each statement execute function end_long_statement()`,
  )
  onTestFinished(async () => void (await pool.query('drop function end_long_statement cascade')))
  for (let n = 0; n < 100; n++) {
    await says(`text ${n}`)
    // A step has whole batches of the relay.
    if (n % 20 === 19) await relayed()
  }
  const projector = startProjector(held.deps)
  onTestFinished(() => projector.stop())
  await eventually(async () => expect(await copies()).toHaveLength(100))
})

test('very long messages of one batch are stored by several statements, because a statement ends after 30 seconds', async () => {
  const { db, pool } = held.database
  await pool.query(
    `create function end_long_statement() returns trigger language plpgsql as $$ begin
       if (select sum(length(folded)) from added) > 200000 then
         raise 'canceling statement due to statement timeout' using errcode = 'query_canceled';
       end if;
       return null;
     end $$;
     create trigger end_long_statement after insert on message_search referencing new table as added
       for each statement execute function end_long_statement()`,
  )
  onTestFinished(async () => void (await pool.query('drop function end_long_statement cascade')))
  const ids: string[] = []
  for (let n = 0; n < 20; n++) ids.push(await says('long '.repeat(3_200)))
  await db.transaction().execute((trx) => project(trx, ids, sizes.segmentSize))
  expect((await copies()).map(([id]) => id)).toEqual(ids)
})
