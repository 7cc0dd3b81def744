import type { Channel } from '@parley/contract'
import type { Person } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { beforeAll, describe, expect, test } from 'vitest'

const environment = testEnvironment()
let ann: Person
let cat: Person
beforeAll(async () => {
  ;({ ann, cat } = environment.people)
  await ann.creates({ name: 'Gardening Club', topic: 'Roses, 100% organic' })
  await ann.creates({ name: 'roses only', isPrivate: true })
  await ann.creates({ name: 'Bücher', topic: 'The Name of the ROSE' })
  await ann.creates({ name: 'Αθήνα', topic: 'ΟΔΌΣ ΑΘΗΝΆΣ' })
})

const listed = async (
  query: string,
  person = cat,
): Promise<{ names: string[]; channels: Channel[]; hasMore: boolean }> => {
  const { status, body } = await person.get(`/channels?${query}`)
  expect({ query, status }).toEqual({ query, status: 200 })
  return { names: body.channels.map(({ name }: Channel) => name), ...body }
}

describe('GET /channels?q=', () => {
  test.each([
    ['a part of the name', 'DENING', ['Gardening Club']],
    ['a part of a topic', 'ose', ['Bücher', 'Gardening Club']],
    ['one letter', 'ü', ['Bücher', 'Gardening Club']],
    ['a name without its accents', 'BUCH', ['Bücher']],
    ['a name with other accents', 'gärdé', ['Gardening Club']],
    ['a word in capitals that ends with a sigma', 'οδός', ['Αθήνα']],
    ['what is no pattern', '100%', ['Gardening Club']],
    ['what is in no channel', 'r_ses', []],
  ])('finds public channels by %s', async (_, q, names) => {
    expect((await listed(`q=${encodeURIComponent(q)}`)).names).toEqual(names)
  })

  test('finds one’s own private channels too, not those that an admin could read', async () => {
    expect((await listed('q=roses', ann)).names).toEqual(['Gardening Club', 'roses only'])
    expect((await listed('q=roses', environment.people.ada)).names).toEqual(['Gardening Club'])
  })

  test('has pages, also together with the other parameters', async () => {
    const first = await listed('q=ose&limit=1')
    expect(first).toMatchObject({ names: ['Bücher'], hasMore: true })
    expect((await listed(`q=ose&limit=1&after=${first.channels[0]!.id}`)).names).toEqual(['Gardening Club'])
    expect((await listed('q=ose&scope=joined')).names).toEqual([])
    expect((await listed('q=ose&scope=joined', ann)).names).toEqual(['Bücher', 'Gardening Club', 'roses only'])
  })

  test.each(['q=', 'q=%20', 'q=%00', `q=${'a'.repeat(300)}`, 'scope=mine', 'members=no', 'members='])(
    '?%s is 400',
    async (query) => {
      expect((await cat.get(`/channels?${query}`)).status).toBe(400)
    },
  )
})

test('GET /channels?scope=joined returns only channels of which the caller is a member, for admins too', async () => {
  expect((await listed('scope=joined')).names).toEqual(['General'])
  expect((await listed('scope=joined', environment.people.ada)).names).toEqual(['General'])
  const joined = await listed('scope=joined', ann)
  expect(joined.names).toEqual(['Bücher', 'Gardening Club', 'General', 'open', 'roses only', 'secret', 'Αθήνα'])
  const [first] = joined.channels
  expect((await listed(`scope=joined&limit=2&after=${first!.id}`, ann)).names).toEqual(['Gardening Club', 'General'])
  expect((await listed('scope=all', ann)).channels).toEqual((await listed('', ann)).channels)
})

test('GET /channels?members=false returns the number of members without their ids', async () => {
  const { channels } = await listed('', ann)
  const short = (await listed('members=false', ann)).channels
  expect(short).toEqual(channels.map(({ members, ...rest }) => rest))
  expect(channels.map(({ members }) => members.length)).toEqual(short.map(({ memberCount }) => memberCount))
})
