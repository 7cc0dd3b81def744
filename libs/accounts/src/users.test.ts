import { createDatabase, type TestDatabase } from '@parley/test'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createUser, findUserByEmail } from './index.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase(2)
})
afterAll(() => database.drop())

test('a name that very many have already gets a number within a few statements', async () => {
  const taken = 20_000
  await sql`
    insert into users (id, user_name, user_name_key, user_name_skeleton, email, is_admin, created_at)
    select gen_random_uuid(), name, name, name, n || '@example.com', false, 0
    from generate_series(1, ${taken}) n, lateral (select 'info' || case n when 1 then '' else n::text end as name) named
  `.execute(database.db)

  let statements = 0
  const counting = database.as('auth').db.withPlugin({
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
  // Usually about twenty. Each further try uses a range 16 times as large, so the probability of ten more tries is
  // below 10^-30. Counting up from the first number would take over 1,000.
  expect(statements).toBeLessThan(50)
})

const joins = (email: string, userName: string) =>
  database
    .as('auth')
    .db.transaction()
    .execute((trx) => createUser(trx, { email, userName, ip: null, now: 0 }))

test('a name that differs from another only by look-alike letters of another script gets a number', async () => {
  expect((await joins('grace@example.com', 'grace'))!.userName).toBe('grace')
  expect((await joins('false@example.com', 'gr\u0430ce'))!.userName).toBe('gr\u0430ce2')
  expect((await joins('at@example.com', '@grace'))!.userName).toBe('grace3')
})

test('two people take look-alike names at once: one gets a number', async () => {
  const users = await Promise.all([joins('one@example.com', 'copper'), joins('two@example.com', '\u0441opper')])
  expect(users.filter((user) => user!.userName.endsWith('2'))).toHaveLength(1)
})

test('a name that the previous version stored without a skeleton is protected too', async () => {
  const { db } = database
  const dora = (await joins('dora@example.com', 'anything'))!
  await db.updateTable('users').set({ userName: 'dora', userNameKey: 'dora' }).where('id', '=', dora.id).execute()
  expect((await joins('false-dora@example.com', 'd\u043Era'))!.userName).toBe('d\u043Era2')
})

test('two sign-ins at once with two spellings of one domain: one user is created, and both find it', async () => {
  const spellings = ['ann@bücher.example', 'ann@xn--bcher-kva.example']
  const users = await Promise.all(spellings.map((email) => joins(email, 'ann')))
  const [user, ...others] = users.filter((each) => each !== undefined)
  expect(others).toEqual([])
  for (const email of spellings) {
    expect(await findUserByEmail(database.db, email)).toMatchObject({ id: user!.id, email: user!.email })
    expect(await joins(email, 'ann')).toBeUndefined()
  }
})

test('two older accounts, one in each spelling of a domain, are found by their own spelling', async () => {
  for (const email of ['old@bücher.example', 'old@xn--bcher-kva.example']) {
    await sql`insert into users (id, user_name, user_name_key, user_name_skeleton, email, created_at)
      values (gen_random_uuid(), ${email}, ${email}, ${email}, ${email}, 0)`.execute(database.db)
    expect(await findUserByEmail(database.db, email)).toMatchObject({ email })
  }
})
