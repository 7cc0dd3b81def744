import { audit, record, recordControl, recordJob, uuidv7 } from '@parley/database'
import { createDatabase } from '@parley/test'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

let database: Awaited<ReturnType<typeof createDatabase>>
beforeAll(async () => {
  database = await createDatabase()
})
afterAll(() => database.drop())

const settingsChanged = {
  type: 'UPDATE_SERVER_SETTINGS',
  payload: { name: 'Parley\t"x"\n' },
  routing: { to: 'everyone' },
} as const

describe('record', () => {
  test('stores the event as one line of JSON, with its routing, and only if the transaction commits', async () => {
    const { db } = database
    await db.transaction().execute(async (trx) => {
      await record(trx, settingsChanged)
      await recordControl(trx, { to: 'nobody', endSessions: ['s'] })
    })
    const failing = db.transaction().execute(async (trx) => {
      await record(trx, settingsChanged)
      throw new Error('changed my mind')
    })
    await expect(failing).rejects.toThrow('changed my mind')

    const rows = await db.selectFrom('outbox').selectAll().orderBy('id').execute()
    expect(rows.map(({ routing, event }) => [JSON.parse(routing), event && JSON.parse(event)])).toEqual([
      [{ to: 'everyone' }, { type: 'UPDATE_SERVER_SETTINGS', payload: { name: 'Parley\t"x"\n' } }],
      [{ to: 'nobody', endSessions: ['s'] }, null],
    ])
    expect(rows.every(({ event }) => !/[\t\n]/.test(event ?? ''))).toBe(true)
    expect(rows[0]!.createdAt).toBeGreaterThan(1_700_000_000_000)
  })

  test('takes ids only after the transaction has its number', async () => {
    const { db } = database
    const number = await db.transaction().execute(async (trx) => {
      await recordControl(trx, { to: 'nobody' })
      const asked = sql<{ assigned: string | null }>`select pg_current_xact_id_if_assigned()::text as assigned`
      return (await asked.execute(trx)).rows[0]!.assigned
    })
    expect(number).toMatch(/^\d+$/)
  })
})

test('jobs and audit entries exist only if the transaction commits', async () => {
  const { db } = database
  const mail = { to: 'bob@example.org', subject: 'Hello', text: 'Bob' }
  const id = await db.transaction().execute(async (trx) => {
    await audit(trx, {
      action: 'user.create',
      actorId: 'a',
      targetType: 'user',
      targetId: 'u',
      metadata: { by: 'test' },
    })
    return recordJob(trx, 'send-mail', mail)
  })
  const failing = db.transaction().execute(async (trx) => {
    await recordJob(trx, 'send-mail', mail)
    await audit(trx, { action: 'user.exit', actorId: 'a', targetType: 'user', targetId: 'u' })
    throw new Error('no')
  })
  await expect(failing).rejects.toThrow('no')

  expect(await db.selectFrom('jobs').select(['id', 'name', 'data']).execute()).toEqual([
    { id, name: 'send-mail', data: mail },
  ])
  expect(await db.selectFrom('auditLog').select(['action', 'metadata']).execute()).toEqual([
    { action: 'user.create', metadata: { by: 'test' } },
  ])
})

test('uuidv7 is ordered within a process and well-formed', () => {
  const ids = Array.from({ length: 10_000 }, uuidv7)
  expect([...ids].sort()).toEqual(ids)
  expect(new Set(ids).size).toBe(ids.length)
  expect(ids[0]).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
})
