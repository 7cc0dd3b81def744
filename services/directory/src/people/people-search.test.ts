import type { User } from '@parley/contract'
import { uuidv7 } from '@parley/database'
import { Person } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { beforeAll, describe, expect, test } from 'vitest'

const environment = testEnvironment()
let grace: Person
let linus: Person
let marge: Person
let giorgos: Person
const named = async (email: string, userName: string) => {
  const person = await Person.signIn(environment.baseUrl, email)
  expect((await person.put('/users/me', { userName })).status).toBe(200)
  return person
}
beforeAll(async () => {
  grace = await named('grace@example.com', 'Grace Brewster Hopper')
  linus = await named('linus@hopping.example.com', 'Linus-Benedict O’Neil')
  marge = await named('hoppe@example.com', 'Großmutter Ärmel')
  giorgos = await named('giorgos@example.com', 'Γιώργος')
  const shown = await giorgos.put('/users/me', { displayName: 'ΠΑΠΑΣ IŞIK' })
  expect(shown.status).toBe(200)
})

const users = async (query: string, person = environment.people.ann): Promise<{ ids: string[]; hasMore: boolean }> => {
  const { status, body } = await person.get(`/users?${query}`)
  expect({ query, status }).toEqual({ query, status: 200 })
  return { ids: body.users.map(({ id }: User) => id), hasMore: body.hasMore }
}
const found = async (q: string) => (await users(`q=${encodeURIComponent(q)}`)).ids

describe('GET /users?q=', () => {
  test.each([
    ['the beginning of a word, in any case', 'hOpPE', () => [marge, grace]],
    ['several words', 'brewster  hop'.replace('  ', ' '), () => [grace]],
    ['a word behind a hyphen', 'bened', () => [linus]],
    ['an address', 'grace@ex', () => [grace]],
    ['letters of any script', 'ärm', () => [marge]],
    ['a form that means the same', 'ｇｒａｃｅ', () => [grace]],
    ['a name without its accents', 'ARM', () => [marge]],
    ['a name with other accents', 'Lïnüs', () => [linus]],
    ['letters that are written as two', 'grossm', () => [marge]],
    ['a name that ends with a sigma', 'ΓΙΏΡΓΟΣ', () => [giorgos]],
    ['a name in capitals', 'Παπάς', () => [giorgos]],
    ['the same capitals', 'ΠΑΠΑΣ', () => [giorgos]],
    ['the small letter of a capital I in Turkish', 'ışık', () => [giorgos]],
  ])('finds people by %s', async (_, q, people) => {
    expect(await found(q)).toEqual(people().map(({ id }) => id))
  })

  test.each(['opper', 'example', '%', '_', 'grace\\', 'nobody at all', "'", '\u{10ffff}'])(
    '%s finds nobody',
    async (q) => {
      expect(await found(q)).toEqual([])
    },
  )

  test('finds a person once, and as they are called now', async () => {
    const twin = await named('twin@example.com', 'Twin Twining')
    expect(await found('twi')).toEqual([twin.id])
    await twin.put('/users/me', { userName: 'Single' })
    expect([await found('twining'), await found('single'), await found('twin@')]).toEqual([[], [twin.id], [twin.id]])
    await environment.people.ada.delete(`/users/${twin.id}`)
    expect(await found('single')).toEqual([])
  })

  test('returns complete users, up to the limit', async () => {
    const { body } = await environment.people.ann.get('/users?q=grace')
    const listed = (await environment.people.ann.get('/users')).body.users.find(({ id }: User) => id === grace.id)
    expect(body).toEqual({ users: [listed], hasMore: false })
    expect(await users('q=hop&limit=1')).toEqual({ ids: [marge.id], hasMore: true })
  })

  test.each([false, true])('puts the members of a channel first; private: %s', async (isPrivate) => {
    const { ann, ada, cat } = environment.people
    const channel = await ann.creates({ name: `with grace ${isPrivate}`, isPrivate, members: [grace.id] })
    expect((await users(`q=hop&channelId=${channel.id}`)).ids).toEqual([grace.id, marge.id])
    expect(await users(`q=hop&limit=1&channelId=${channel.id}`, ada)).toEqual({ ids: [grace.id], hasMore: true })
    expect((await cat.get(`/users?q=hop&channelId=${channel.id}`)).status).toBe(isPrivate ? 403 : 200)
    expect((await ann.get(`/users?q=hop&channelId=${uuidv7()}`)).status).toBe(404)
  })

  test.each([
    'q=',
    'q=%20',
    'q=a&after=b',
    'q=a&limit=0',
    'q=a&ids=b',
    'q=a&q=b',
    'q=%00',
    `q=${'a'.repeat(300)}`,
    'channelId=a',
  ])('?%s is 400', async (query) => {
    expect(await environment.people.ann.get(`/users?${query}`)).toMatchObject({
      status: 400,
      body: { error: expect.any(String) },
    })
  })
})

describe('GET /users?ids=', () => {
  test('returns these people, without unknown ids', async () => {
    const ids = [linus.id, uuidv7(), 'nonsense', grace.id, grace.id, '']
    expect(await users(`ids=${ids.join(',')}`)).toEqual({ ids: [grace.id, linus.id], hasMore: false })
    expect(await users('ids=')).toEqual({ ids: [], hasMore: false })
  })

  test('takes at most 200', async () => {
    const ids = Array.from({ length: 200 }, () => uuidv7())
    expect(await users(`ids=${ids.join(',')}`)).toEqual({ ids: [], hasMore: false })
    expect((await grace.get(`/users?ids=${[...ids, grace.id].join(',')}`)).status).toBe(400)
    expect((await grace.get(`/users?ids=${grace.id}&after=${linus.id}`)).status).toBe(400)
  })
})

describe('GET /channels/:channelId/members', () => {
  const page = async (channelId: string, query = '', person = environment.people.ann) =>
    (await person.get(`/channels/${channelId}/members?${query}`)) as {
      status: number
      body: { members: User[]; hasMore: boolean }
    }

  test('returns the members by name, in pages', async () => {
    const { ann, bob } = environment.people
    const channel = await ann.creates({ name: 'by name', isPrivate: true, members: [linus.id, bob.id, grace.id] })
    const whole = await page(channel.id)
    expect(whole.body).toEqual({
      members: [ann, bob, grace, linus].map(({ id }, n) => ({
        id,
        userName: ['ann', 'bob', 'Grace Brewster Hopper', 'Linus-Benedict O’Neil'][n],
      })),
      hasMore: false,
    })
    const first = (await page(channel.id, 'limit=3')).body
    expect(first).toEqual({ members: whole.body.members.slice(0, 3), hasMore: true })
    expect((await page(channel.id, `limit=3&after=${grace.id}`)).body).toEqual({
      members: whole.body.members.slice(3),
      hasMore: false,
    })
    expect((await page(channel.id, `after=${uuidv7()}`)).status).toBe(400)
  })

  test('finds members by the beginning of a word, in pages', async () => {
    const channel = await environment.people.ann.creates({ name: 'found', members: [linus.id, grace.id, marge.id] })
    const ids = async (query: string) => (await page(channel.id, query)).body.members.map(({ id }) => id)
    expect(await ids('q=hop')).toEqual([marge.id, grace.id])
    expect(await ids('q=hop&limit=1')).toEqual([marge.id])
    expect(await ids(`q=hop&limit=1&after=${marge.id}`)).toEqual([grace.id])
    expect(await ids('q=bob')).toEqual([])
    expect((await page(channel.id, 'q=%20')).status).toBe(400)
  })

  test('is for those who may read the channel', async () => {
    const { ada, bob, cat, nobody } = environment.people
    const { secret } = environment.channel
    const statuses = await Promise.all(
      [ada, bob, cat, nobody].map(async (each) => (await page(secret.id, '', each)).status),
    )
    expect(statuses).toEqual([200, 200, 403, 401])
    for (const id of [uuidv7(), 'nonsense']) expect((await page(id)).status).toBe(404)
  })
})
