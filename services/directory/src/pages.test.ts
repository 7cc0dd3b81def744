import { uuidv7 } from '@parley/database'
import { Person } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { beforeAll, describe, expect, test } from 'vitest'

const environment = testEnvironment()
let zoe: Person
beforeAll(async () => {
  zoe = await Person.signIn(environment.baseUrl, 'zoe@example.com')
  const { ann, bob } = environment.people
  for (const name of ['Zebra', 'apple', 'Émile', 'a "quoted" \\ name', 'été']) await ann.creates({ name })
  await ann.creates({ name: 'between us', isPrivate: true, members: [zoe.id] })
  for (const other of [ann, bob, environment.people.cat, environment.people.ada]) {
    environment.pass(10)
    await zoe.post('/conversations', { targetUserId: other.id })
  }
})

type Item = Record<string, unknown>
const response = async (path: string, by = zoe): Promise<{ items: Item[]; hasMore: boolean }> => {
  const { status, body, headers } = await by.get(path)
  expect(status).toBe(200)
  expect(headers['content-type']).toBe('application/json; charset=utf-8')
  const { hasMore, ...rest } = body
  return { items: Object.values(rest)[0] as Item[], hasMore }
}

describe.each([
  ['/users', 'id'],
  ['/presence', 'userId'],
  ['/channels', 'id'],
  ['/conversations', 'id'],
] as const)('GET %s', (path, id) => {
  test.each([1, 2, 3])('its pages of %i are the whole', async (limit) => {
    const whole = await response(path)
    expect(whole.items.length).toBeGreaterThanOrEqual(4)
    expect(whole.hasMore).toBe(false)

    const seen: Item[] = []
    for (let after = '', more = true; more; ) {
      const page = await response(`${path}?limit=${limit}${after}`)
      seen.push(...page.items)
      more = page.hasMore
      expect(page.items).toHaveLength(more ? limit : page.items.length || 1)
      after = `&after=${encodeURIComponent(String(page.items.at(-1)![id]))}`
      expect(seen.length).toBeLessThanOrEqual(whole.items.length)
    }
    expect(seen).toHaveLength(whole.items.length)
    // The complete list of conversations is in another order than its pages.
    if (path !== '/conversations') expect(seen).toEqual(whole.items)
    else expect(seen).toEqual(whole.items.toSorted((a, b) => Number(b.createdAt) - Number(a.createdAt)))
  })

  test('a limit beyond the number of items, or beyond the largest page, returns what exists', async () => {
    const { items } = await response(path)
    for (const limit of [items.length, items.length + 1, 1_000_000]) {
      const page = await response(`${path}?limit=${limit}`)
      expect({ ...page, items: page.items.length }).toEqual({ hasMore: false, items: items.length })
    }
    const [first] = (await response(`${path}?limit=1`)).items
    expect((await response(`${path}?after=${first![id]}`)).items).toHaveLength(items.length - 1)
  })

  test.each([
    'limit=0',
    'limit=-1',
    'limit=1.5',
    'limit=many',
    'limit=',
    'limit=1&limit=2',
    'after=',
    'after=nonsense',
    'after=dm:nonsense',
    'after=%00',
    `after=${'a'.repeat(5_000)}`,
    `after=${uuidv7()}`,
    `after=dm:${uuidv7()}`,
    `after=${uuidv7()}&after=${uuidv7()}`,
    `limit=2&after=${uuidv7()}`,
  ])('?%s is 400', async (query) => {
    expect(await zoe.get(`${path}?${query}`)).toMatchObject({ status: 400, body: { error: expect.any(String) } })
  })

  test('is only for people who are signed in, with any parameters', async () => {
    expect(await environment.people.nobody.get(`${path}?limit=0`)).toMatchObject({ status: 401 })
    expect(await environment.people.nobody.get(`${path}?limit=1`)).toMatchObject({ status: 401 })
  })
})

test('a person who leaves between two pages does not stop them', async () => {
  const leaver = await Person.signIn(environment.baseUrl, 'mid@example.com')
  const before = (await response('/users')).items.map(({ id }) => id)
  expect(await leaver.post('/users/exit')).toMatchObject({ status: 200 })
  const { items } = await response(`/users?after=${leaver.id}`)
  expect(items.map(({ id }) => id)).toEqual(before.slice(before.indexOf(leaver.id) + 1))
  expect((await response(`/presence?after=${leaver.id}`)).items).toEqual([])
})

test('a page has only items that the caller may see', async () => {
  const { ann, bob, cat, ada } = environment.people
  const hidden = environment.channel.secret.id
  expect(await cat.get(`/channels?after=${hidden}`)).toMatchObject({ status: 400 })
  for (const person of [bob, ada]) await response(`/channels?after=${hidden}`, person)
  const all = (await response('/channels?limit=200', cat)).items
  expect(all.map(({ id }) => id)).not.toContain(hidden)

  const { conversation } = (await ann.post('/conversations', { targetUserId: bob.id })).body
  await response(`/conversations?after=${conversation.id}`, bob)
  for (const person of [cat, ada]) {
    expect(await person.get(`/conversations?after=${conversation.id}`)).toMatchObject({ status: 400 })
  }
  expect(await ann.get(`/conversations?after=dm:${environment.channel.open.id}`)).toMatchObject({ status: 400 })
  expect(await ann.get(`/channels?after=${conversation.id.slice(3)}`)).toMatchObject({ status: 400 })
})

test('a new message between two pages of conversations does not change the order', async () => {
  const [first, second, third] = (await response('/conversations?limit=3')).items
  await zoe.post(`/conversations/${third!.id}/messages`, { content: 'up' })
  expect((await response('/conversations')).items[0]).toMatchObject({ id: third!.id })
  expect((await response('/conversations?limit=3')).items.map(({ id }) => id)).toEqual([
    first!.id,
    second!.id,
    third!.id,
  ])
  expect((await response(`/conversations?limit=1&after=${second!.id}`)).items).toMatchObject([
    { id: third!.id, lastSeq: 1 },
  ])
})
