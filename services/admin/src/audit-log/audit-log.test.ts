import type { Person } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { sql } from 'kysely'
import { beforeAll, describe, expect, test } from 'vitest'

const environment = testEnvironment()
beforeAll(async () => {
  const { ada, ann } = environment.people
  await sql`delete from audit_log`.execute(environment.deps.db)
  await sql`
    insert into audit_log (id, action, actor_id, target_type, target_id, metadata, ip, created_at)
    select gen_random_uuid(), case when n % 2 = 0 then 'channel.create' else 'channel.delete' end,
      case when n <= 10 then ${ada.id} else ${ann.id} end, 'channel', 'c' || n,
      case when n = 1 then '{"snake_case": {"deep": [1]}}'::jsonb end, '192.0.2.7', 1000 + n
    from generate_series(1, 1200) n`.execute(environment.deps.db)
})

const read = async (query = '', person: Person = environment.people.ada) => {
  const { status, body } = await person.get(`/admin/audit-log${query}`)
  return { ...body, status }
}
const targets = async (query: string): Promise<string[]> =>
  (await read(query)).entries.map(({ targetId }: { targetId: string }) => targetId)

describe('GET /admin/audit-log', () => {
  test('returns the newest hundred, newest first', async () => {
    const { status, entries, total, hasMore } = await read()
    expect({ status, total, hasMore, length: entries.length }).toEqual({
      status: 200,
      total: 1200,
      hasMore: true,
      length: 100,
    })
    expect(entries[0]).toEqual({
      id: expect.any(String),
      action: 'channel.create',
      actorId: environment.people.ann.id,
      targetType: 'channel',
      targetId: 'c1200',
      ip: '192.0.2.7',
      createdAt: 2200,
    })
  })

  test('pages to the end, a thousand at most', async () => {
    expect(await targets('?limit=2&offset=3')).toEqual(['c1197', 'c1196'])
    expect((await read('?limit=5000')).entries).toHaveLength(1000)
    const end = await read('?limit=5000&offset=1000')
    expect([end.entries.length, end.hasMore]).toEqual([200, false])
    expect(end.entries.at(-1)).toMatchObject({ metadata: { snake_case: { deep: [1] } } })
    expect(await read('?offset=5000')).toMatchObject({ status: 200, entries: [], total: 1200, hasMore: false })
  })

  test('filters, all together', async () => {
    expect(await targets(`?actorId=${environment.people.ada.id}&action=channel.create&from=1004&to=1008`)).toEqual([
      'c8',
      'c6',
      'c4',
    ])
    expect(await read(`?actorId=${environment.people.ada.id}`)).toMatchObject({ total: 10, hasMore: false })
    expect(await read('?action=nothing.like.it')).toMatchObject({ entries: [], total: 0 })
  })

  test.each([
    'limit=0',
    'limit=-1',
    'limit=many',
    'limit=1.5',
    'offset=-1',
    'offset=1e30',
    'from=yesterday',
    'action=%00',
  ])('?%s is 400', async (query) =>
    expect(await read(`?${query}`)).toMatchObject({ status: 400, error: expect.any(String) }),
  )

  test('is for admins', async () => {
    expect(await read('', environment.people.ann)).toMatchObject({ status: 403 })
    expect(await read('', environment.people.nobody)).toMatchObject({ status: 401 })
  })
})
