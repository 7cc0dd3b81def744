import { createDatabase, type TestDatabase } from '@parley/test'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectDatabase } from './connect.ts'
import { executePrepared } from './prepared.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase()
})
afterAll(() => database.drop())

test('a statement is prepared once, with and without a transaction, and others are not', async () => {
  const { db, close } = connectDatabase({ url: database.url, poolSize: 1, applicationName: 'test', onIdleError() {} })
  const ask = (n: number) => sql<{ n: number }>`select ${n}::int as n`.compile(db)
  expect(await executePrepared(db, ask(1))).toEqual([{ n: 1 }])
  expect(await db.transaction().execute((trx) => executePrepared(trx, ask(2)))).toEqual([{ n: 2 }])
  await sql`select ${3}::int as other`.execute(db)

  const { rows } = await sql<{ statement: string }>`select statement from pg_prepared_statements`.execute(db)
  expect(rows).toEqual([{ statement: 'select $1::int as n' }])
  await close()
})
