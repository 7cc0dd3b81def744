import type { Channel, Message } from '@parley/contract'
import { Person } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'

const environment = testEnvironment()
let count = 0
const comesIn = () => Person.signIn(environment.baseUrl, `saver${++count}@example.com`)
const channelOf = (person: Person, body: object = {}): Promise<Channel> =>
  person.creates({ name: `saved ${++count}`, ...body })

const save = (person: Person, { id }: Message, isSaved = true) => person.put(`/messages/${id}/saved`, { isSaved })

async function page(person: Person, query = ''): Promise<{ messages: Message[]; hasMore: boolean }> {
  const { status, body } = await person.get(`/saved${query}`)
  expect(status, JSON.stringify(body)).toBe(200)
  return body
}
const listed = async (person: Person) => (await page(person)).messages.map(({ content }) => content)

describe('PUT /messages/:messageId/saved', () => {
  test('saves a message of a channel, a thread or a conversation for the caller alone, and tells their streams', async () => {
    const { ann, bob } = environment.people
    const channel = await channelOf(ann)
    const parent = await ann.says('in a channel', channel)
    const { reply } = (await bob.post(`/messages/${parent.id}/thread`, { content: 'in a thread' })).body
    const { conversation } = (await ann.post('/conversations', { targetUserId: bob.id })).body
    const { message } = (await ann.post(`/conversations/${conversation.id}/messages`, { content: 'direct' })).body

    // The newest message comes first, whenever it was saved.
    for (const one of [reply, message, parent]) {
      const saved = { messageId: one.id, isSaved: true }
      expect(await save(bob, one)).toMatchObject({ status: 200, body: saved })
      await environment.events.to(bob).toHave('SAVED_UPDATE', saved)
      expect(await bob.get(`/messages/${one.id}/saved`)).toMatchObject({ status: 200, body: saved })
    }
    expect(await listed(bob)).toEqual(['direct', 'in a thread', 'in a channel'])
    expect((await page(bob)).messages[2]).toEqual((await bob.get(`/messages/${parent.id}`)).body.message)
    expect((await ann.get(`/messages/${parent.id}/saved`)).body).toEqual({ messageId: parent.id, isSaved: false })
    await environment.events.to(ann).neverHave('SAVED_UPDATE', { messageId: parent.id })
  })

  test('is idempotent, also when several requests come at once', async () => {
    const { ann } = environment.people
    const message = await ann.says('once', await channelOf(ann))
    const events = async () => {
      const rows = await environment.deps.db
        .selectFrom('outbox')
        .select('event')
        .where('event', 'like', `%SAVED_UPDATE%${message.id}%`)
        .orderBy('id')
        .execute()
      return rows.map(({ event }) => JSON.parse(event!).payload.isSaved)
    }
    const responses = await Promise.all([1, 2, 3, 4].map(() => save(ann, message)))
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    expect(await events()).toEqual([true])
    for (const _ of [1, 2]) {
      expect((await save(ann, message, false)).body).toEqual({ messageId: message.id, isSaved: false })
    }
    expect(await events()).toEqual([true, false])
    expect(await listed(ann)).not.toContain('once')
  })

  test('is refused for a message that the caller cannot read, and for an invalid body', async () => {
    const { ann, bob } = environment.people
    const secret = await ann.says('secret', await channelOf(ann, { isPrivate: true }))
    expect(await save(bob, secret)).toMatchObject({ status: 403 })
    expect(await bob.get(`/messages/${secret.id}/saved`)).toMatchObject({ status: 403 })
    expect(await save(bob, { ...secret, id: '00000000-0000-7000-8000-000000000000' })).toMatchObject({ status: 404 })
    for (const body of [{}, { isSaved: 'yes' }, { isSaved: null }]) {
      const { status } = await ann.put(`/messages/${secret.id}/saved`, body)
      expect([body, status]).toEqual([body, 400])
    }
  })
})

describe('GET /saved/ids', () => {
  test('has the ids of the newest 1,000 messages that the caller has saved and may read', async () => {
    const [reader, author] = [await comesIn(), await comesIn()]
    const ids = async () => (await reader.get('/saved/ids')).body
    expect(await ids()).toEqual({ messageIds: [], hasMore: false })
    const open = await channelOf(author)
    const secret = await channelOf(author, { isPrivate: true, members: [reader.id] })
    const [first, second] = [await author.says('first', secret), await author.says('second', open)]
    for (const message of [second, first]) await save(reader, message)
    expect(await ids()).toEqual({ messageIds: [second.id, first.id], hasMore: false })
    await author.put(`/channels/${secret.id}`, { removeMembers: [reader.id] })
    expect(await ids()).toEqual({ messageIds: [second.id], hasMore: false })

    await sql`
      with copies as (
        insert into messages (id, channel_id, seq, author_id, content, created_at)
        select gen_random_uuid(), ${open.id}, n + 1000, ${author.id}, 'many', 1 from generate_series(1, 1000) n returning id)
      insert into saved_messages (user_id, message_id) select ${reader.id}::uuid, id from copies`.execute(
      environment.deps.db,
    )
    const many = await ids()
    expect([many.messageIds.length, new Set(many.messageIds).size, many.hasMore]).toEqual([1_000, 1_000, true])
  })
})

describe('GET /saved', () => {
  test('has pages, which begin after a message, also after one that is no longer saved', async () => {
    const reader = await comesIn()
    const channel = await channelOf(reader)
    const messages: Message[] = []
    for (const n of [1, 2, 3, 4]) messages.push(await reader.says(`${n}`, channel))
    for (const message of messages) await save(reader, message)
    const ids = ({ messages }: { messages: Message[] }) => messages.map(({ id }) => id)
    const [first, second, third, fourth] = messages.map(({ id }) => id)

    const newest = await page(reader, '?limit=2')
    expect([ids(newest), newest.hasMore]).toEqual([[fourth, third], true])
    await save(reader, messages[2]!, false)
    const older = await page(reader, `?limit=2&before=${third}`)
    expect([ids(older), older.hasMore]).toEqual([[second, first], false])
    const unknown = 'before=ffffffff-ffff-4fff-bfff-ffffffffffff'
    for (const query of [unknown, 'before=nonsense', 'before=', 'limit=0', 'limit=many']) {
      expect(await reader.get(`/saved?${query}`)).toMatchObject({ status: 400 })
    }
  })

  test('has no deleted messages, and those of a lost channel only when the reader comes back', async () => {
    const { ann } = environment.people
    const reader = await comesIn()
    const secret = await channelOf(ann, { isPrivate: true, members: [reader.id] })
    const [kept, deleted] = [await ann.says('kept', secret), await ann.says('deleted', secret)]
    for (const message of [kept, deleted]) await save(reader, message)
    await ann.delete(`/messages/${deleted.id}`)
    expect(await listed(reader)).toEqual(['kept'])
    await ann.put(`/channels/${secret.id}`, { removeMembers: [reader.id] })
    expect(await listed(reader)).toEqual([])
    await ann.put(`/channels/${secret.id}`, { addMembers: [reader.id] })
    expect(await listed(reader)).toEqual(['kept'])
  })
})
