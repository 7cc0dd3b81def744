import { createDatabase, type TestDatabase } from '@parley/test'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectDatabase } from './connect.ts'
import { executePrepared, prepared } from './statements.ts'
import { uuidv7 } from './uuidv7.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase()
})
afterAll(() => database.drop())

test('only prepared statements are prepared, once each, with and without a transaction', async () => {
  const { db, close } = connectDatabase({ url: database.url, poolSize: 1, applicationName: 'test', onIdleError() {} })
  const ask = (n: number) => sql<{ n: number }>`select ${n}::int as n`.compile(db)
  expect(await executePrepared(db, ask(1))).toEqual([{ n: 1 }])
  expect(await db.transaction().execute((trx) => executePrepared(trx, ask(2)))).toEqual([{ n: 2 }])
  await sql`select ${3}::int as other`.execute(db)

  const { rows } = await sql<{ statement: string }>`select statement from pg_prepared_statements`.execute(db)
  expect(rows).toEqual([{ statement: 'select $1::int as n' }])
  await close()
})

test('without prepared statements every statement is sent without its name', async () => {
  const options = { url: database.url, poolSize: 1, applicationName: 'test', onIdleError() {} }
  const { db, pool, close } = connectDatabase({ ...options, preparedStatements: false })
  expect(await executePrepared(db, sql<{ n: number }>`select ${1}::int as n`.compile(db))).toEqual([{ n: 1 }])
  const { rows } = await pool.query({ name: 'named', text: 'select $1::int as n', values: [2] })
  expect(rows).toEqual([{ n: 2 }])
  expect((await pool.query('select from pg_prepared_statements')).rowCount).toBe(0)
  await close()
})

test('a statement compiled once gets the values of each call, and is prepared once', async () => {
  const { db, close } = connectDatabase({ url: database.url, poolSize: 1, applicationName: 'test', onIdleError() {} })
  let written = 0
  const ask = prepared((db, { id, most }: { id: string; most: number }) => {
    written++
    return db
      .selectFrom('users')
      .select(['id', 'userName'])
      .where('id', '=', id)
      .where('isAdmin', '=', false)
      .limit(most)
  })
  const [ada, bob] = [uuidv7(), uuidv7()]
  for (const [id, userName] of Object.entries({ [ada]: 'Ada', [bob]: 'Bob' })) {
    const person = { id, userName, userNameKey: userName.toLowerCase(), email: `${userName}@example.org`, createdAt: 1 }
    await db.insertInto('users').values(person).execute()
  }
  for (let round = 0; round < 4; round++) {
    expect(await ask(db, { id: ada, most: 1 })).toEqual([{ id: ada, userName: 'Ada' }])
    expect(await db.transaction().execute((trx) => ask(trx, { id: bob, most: 9 }))).toEqual([
      { id: bob, userName: 'Bob' },
    ])
    expect(await ask(db, { id: bob, most: 0 })).toEqual([])
  }
  expect(written).toBe(1)

  const uses = sql`select (generic_plans + custom_plans)::int as uses from pg_prepared_statements`
  expect((await uses.execute(db)).rows).toEqual([{ uses: 12 }])
  await close()
})
