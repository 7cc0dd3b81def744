import { createDatabase, type TestDatabase } from '@parley/test'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { isDatabaseUnavailable } from './failures.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase()
})
afterAll(() => database.drop())

const failure = (statements: string) =>
  database.pool.query(statements).then(
    () => expect.fail('this must fail'),
    (error: unknown) => error,
  )

test('a statement that was too slow or met a standby may be tried again', async () => {
  expect(isDatabaseUnavailable(await failure(`set local statement_timeout = 1; select pg_sleep(10)`))).toBe(true)
  expect(isDatabaseUnavailable(await failure(`set transaction read only; update server_settings set name = 'x'`))).toBe(
    true,
  )
})

test('a faulty statement may not be tried again', async () => {
  expect(isDatabaseUnavailable(await failure('select 1 / 0'))).toBe(false)
  expect(isDatabaseUnavailable(await failure(`insert into server_settings (id, name) values (1, 'x')`))).toBe(false)
})
