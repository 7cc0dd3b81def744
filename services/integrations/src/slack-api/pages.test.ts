import { randomUUID } from 'node:crypto'
import type { Person } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import type { WebClient } from '@slack/web-api'
import { beforeAll, describe, expect, test } from 'vitest'
import { slackClient } from './slack-client.testing.ts'

const environment = testEnvironment()
let slack: WebClient
beforeAll(() => {
  slack = slackClient(environment, environment.people.ann.token)
})

/** The items of all pages with one item each. `change` runs after each page, with its item. */
async function allOf(
  method: string,
  args: object,
  itemsOf: (page: object) => string[],
  change: (id: string) => Promise<unknown>,
) {
  const ids: string[] = []
  for await (const page of slack.paginate(method, { ...args, limit: 1 })) {
    for (const id of itemsOf(page)) {
      ids.push(id)
      await change(id)
    }
  }
  return ids
}

const idsIn = (list: string) => (page: object) => (page as Record<string, { id: string }[]>)[list]!.map(({ id }) => id)
/** A name that sorts first, or last. */
const first = () => `0 ${randomUUID()}`
const last = () => `zz ${randomUUID()}`

describe.each([
  ['first', first],
  ['last', last],
])('pages have each item once while each is renamed so that it sorts %s', (_, nameOf) => {
  const renamesPerson = (id: string) => {
    const found = Object.values(environment.people).find((person) => person.id === id) as Person
    return found.put('/users/me', { userName: nameOf() })
  }
  const everybody = () => Object.values(environment.people).flatMap(({ id }) => id || [])

  test('users.list', async () => {
    const ids = await allOf('users.list', {}, idsIn('members'), renamesPerson)
    expect(ids.toSorted()).toEqual(everybody().toSorted())
  })

  test('conversations.members', async () => {
    const { ann } = environment.people
    const channel = await ann.creates({ name: `all ${randomUUID()}`, members: everybody() })
    const args = { channel: channel.id }
    const itemsOf = (page: object) => (page as { members: string[] }).members
    const ids = await allOf('conversations.members', args, itemsOf, renamesPerson)
    expect(ids.toSorted()).toEqual(everybody().toSorted())
  })

  test.each(['conversations.list', 'users.conversations'])('%s', async (method) => {
    const { ann, ada } = environment.people
    const created = [1, 2, 3].map(() => ann.creates({ name: `paged ${randomUUID()}` }))
    const wanted = (await Promise.all(created)).map(({ id }) => id)
    const ids = await allOf(method, {}, idsIn('channels'), (id) => ada.put(`/channels/${id}`, { name: nameOf() }))
    expect(ids).toEqual(expect.arrayContaining(wanted))
    expect(new Set(ids).size).toBe(ids.length)
  })
})

test('a page follows an item that the caller cannot see any more', async () => {
  const { ann, bob } = environment.people
  const channels = [1, 2, 3].map(() => bob.creates({ name: randomUUID(), isPrivate: true, members: [ann.id] }))
  const wanted = (await Promise.all(channels)).map(({ id }) => id)
  const leaves = (id: string) => (wanted.includes(id) ? ann.post(`/channels/${id}/leave`) : Promise.resolve())
  const ids = await allOf('conversations.list', { types: 'private_channel' }, idsIn('channels'), leaves)
  expect(ids).toEqual(expect.arrayContaining(wanted))
})
