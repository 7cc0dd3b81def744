import type { Channel, Message } from '@parley/contract'
import { Person } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { describe, expect, test } from 'vitest'

const environment = testEnvironment()
let count = 0
const comesIn = () => Person.signIn(environment.baseUrl, `reader${++count}@example.com`)
const channelOf = (person: Person, body: object = {}): Promise<Channel> =>
  person.creates({ name: `mentions ${++count}`, ...body })

async function page(person: Person, query = ''): Promise<{ messages: Message[]; hasMore: boolean }> {
  const { status, body } = await person.get(`/mentions${query}`)
  expect(status, JSON.stringify(body)).toBe(200)
  return body
}
const listed = async (person: Person) => (await page(person)).messages.map(({ content }) => content)

async function replies(person: Person, to: Message, content: string): Promise<Message> {
  const { status, body } = await person.post(`/messages/${to.id}/thread`, { content })
  expect(status, JSON.stringify(body)).toBe(200)
  return body.reply
}

describe('GET /mentions', () => {
  test('lists whole messages of others, newest first: of channels, threads and conversations', async () => {
    const { ann, bob } = environment.people
    const reader = await comesIn()
    const name = `@${reader.userName}`
    const channel = await channelOf(ann)
    const parent = await ann.says(`${name} one`, channel)
    await replies(bob, parent, `${name} two`)
    const { body } = await ann.post('/conversations', { targetUserId: reader.id })
    await ann.post(`/conversations/${body.conversation.id}/messages`, { content: `${name} three` })
    await ann.says('nobody', channel)
    await ann.says(`@${bob.userName}`, channel)
    await reader.says(`${name} myself`, channel)

    const { messages, hasMore } = await page(reader)
    expect(messages.map(({ content }) => content)).toEqual([`${name} three`, `${name} two`, `${name} one`])
    expect(hasMore).toBe(false)
    expect(messages[2]).toEqual((await reader.get(`/messages/${parent.id}`)).body.message)
    expect(await environment.people.nobody.get('/mentions')).toMatchObject({ status: 401 })
  })

  test('has pages, which begin after a message, also after a deleted one', async () => {
    const { ann } = environment.people
    const reader = await comesIn()
    const channel = await channelOf(ann)
    const messages: Message[] = []
    for (const n of [1, 2, 3, 4]) messages.push(await ann.says(`@${reader.userName} ${n}`, channel))
    const ids = ({ messages }: { messages: Message[] }) => messages.map(({ id }) => id)
    const [first, second, third, fourth] = messages.map(({ id }) => id)

    const newest = await page(reader, '?limit=2')
    expect(newest.hasMore).toBe(true)
    expect(ids(newest)).toEqual([fourth, third])
    await ann.delete(`/messages/${third}`)
    const older = await page(reader, `?limit=2&before=${third}`)
    expect(older.hasMore).toBe(false)
    expect(ids(older)).toEqual([second, first])
    expect(ids(await page(reader))).toEqual([fourth, second, first])
    const unknown = ['00000000-0000-7000-8000-000000000000', 'ffffffff-ffff-4fff-bfff-ffffffffffff']
    for (const before of [...unknown, 'nonsense', ''])
      expect(await reader.get(`/mentions?before=${before}`)).toMatchObject({
        status: 400,
        body: { code: 'invalid_cursor' },
      })
    for (const query of ['limit=0', 'limit=many']) {
      expect(await reader.get(`/mentions?${query}`)).toMatchObject({ status: 400 })
    }
  })

  test('follows edits', async () => {
    const { ann } = environment.people
    const reader = await comesIn()
    const channel = await channelOf(ann)
    const { id } = await ann.says('somebody', channel)
    expect(await listed(reader)).toEqual([])
    await ann.put(`/messages/${id}`, { content: `@${reader.userName}` })
    expect(await listed(reader)).toEqual([`@${reader.userName}`])
    await ann.put(`/messages/${id}`, { content: 'somebody else' })
    expect(await listed(reader)).toEqual([])
  })

  test('has the mentions of a group while the person belongs to it', async () => {
    const { ada, ann } = environment.people
    const reader = await comesIn()
    const handle = `team${++count}`
    const { body } = await ada.post('/groups', { handle, name: handle, members: [reader.id] })
    await ann.says(`@${handle} hello`, await channelOf(ann))
    expect(await listed(reader)).toEqual([`@${handle} hello`])
    await ada.put(`/groups/${body.group.id}/members`, { remove: [reader.id] })
    expect(await listed(reader)).toEqual([])
  })

  test('has @channel and @here of joined channels, since the person joined, but not in threads', async () => {
    const { ann } = environment.people
    const reader = await comesIn()
    const channel = await channelOf(ann)
    await ann.says('@channel before', channel)
    expect(await listed(reader)).toEqual([])
    await reader.post(`/channels/${channel.id}/join`)
    const parent = await ann.says('@channel everybody', channel)
    await ann.says(`@here @${reader.userName} once`, channel)
    await replies(ann, parent, '@channel in a thread')
    expect(await listed(reader)).toEqual([`@here @${reader.userName} once`, '@channel everybody'])
    await reader.post(`/channels/${channel.id}/leave`)
    // The channel is public, so its messages that name the person can still be read.
    expect(await listed(reader)).toEqual([`@here @${reader.userName} once`])
  })

  test('leaves out no message when another one mentions the person in several ways', async () => {
    const { ada, ann } = environment.people
    const reader = await comesIn()
    const handle = `team${++count}`
    await ada.post('/groups', { handle, name: handle, members: [reader.id] })
    const [quiet, busy] = [await channelOf(ann), await channelOf(ann)]
    for (const { id } of [quiet, busy]) await reader.post(`/channels/${id}/join`)
    await ann.says('@channel older', quiet)
    const newest = await ann.says(`@channel @${handle} @${reader.userName} newest`, busy)
    const contents = ({ messages }: { messages: Message[] }) => messages.map(({ content }) => content)

    const first = await page(reader, '?limit=1')
    expect(first).toMatchObject({ messages: [{ id: newest.id }], hasMore: true })
    expect(contents(await page(reader, `?limit=1&before=${newest.id}`))).toEqual(['@channel older'])
  })

  test('has nothing of channels that the person cannot read any more, and it again when they come back', async () => {
    const { ann } = environment.people
    const reader = await comesIn()
    const secret = await channelOf(ann, { isPrivate: true, members: [reader.id] })
    await ann.says(`@${reader.userName} secret`, secret)
    expect(await listed(reader)).toEqual([`@${reader.userName} secret`])
    await ann.put(`/channels/${secret.id}`, { removeMembers: [reader.id] })
    expect(await listed(reader)).toEqual([])
    await ann.put(`/channels/${secret.id}`, { addMembers: [reader.id] })
    expect(await listed(reader)).toEqual([`@${reader.userName} secret`])
    await ann.delete(`/channels/${secret.id}`)
    expect(await listed(reader)).toEqual([])
  })

  test('has the messages of webhooks', async () => {
    const { ada, ann } = environment.people
    const reader = await comesIn()
    const channel = await channelOf(ann)
    const { body } = await ada.post('/webhooks', { name: `hook ${++count}`, channelId: channel.id })
    const content = `@${reader.userName} from a program`
    const { id, token } = body.webhook
    const program = new Person(environment.baseUrl, { id: '', userName: 'program' }, token)
    expect(await program.post(`/webhooks/${id}/messages`, { content })).toMatchObject({ status: 200 })
    expect(await listed(reader)).toEqual([content])
  })
})
