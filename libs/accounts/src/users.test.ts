import { createDatabase, type TestDatabase } from '@parley/test'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createUser } from './index.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase(2)
})
afterAll(() => database.drop())

test('a name that very many have already gets a number within a few statements', async () => {
  const taken = 20_000
  await sql`
    insert into users (id, user_name, user_name_key, email, is_admin, created_at)
    select gen_random_uuid(), name, name, n || '@example.com', false, 0
    from generate_series(1, ${taken}) n, lateral (select 'info' || case n when 1 then '' else n::text end as name) named
  `.execute(database.db)

  let statements = 0
  const counting = database.db.withPlugin({
    transformQuery({ node }) {
      statements++
      return node
    },
    transformResult: async ({ result }) => result,
  })
  const user = await counting
    .transaction()
    .execute((trx) => createUser(trx, { email: 'info@example.com', ip: null, now: 0 }))
  expect(user!.userName).toMatch(/^info\d+$/)
  expect(statements).toBeLessThan(20)
})
