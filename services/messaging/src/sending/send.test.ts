import type { Channel, Message } from '@parley/contract'
import { uuidv7 } from '@parley/database'
import { Person } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { describe, expect, test } from 'vitest'

const environment = testEnvironment()
const unknown = uuidv7()

describe('POST /channels/:channelId/messages', () => {
  test('replies with the whole message, and everybody who may read the channel receives it', async () => {
    const { ann, bob, cat } = environment.people
    const quoted = await ann.says('quoted', environment.channel.secret)
    const response = await ann.post(`/channels/${environment.channel.secret.id}/messages`, {
      content: `hello @${bob.userName}`,
      quotedMessageId: quoted.id,
      mentions: ['nonsense'],
      unknownField: true,
    })
    expect(response).toMatchObject({ status: 200, headers: { 'content-type': 'application/json; charset=utf-8' } })
    const message: Message = {
      id: expect.any(String),
      channelId: environment.channel.secret.id,
      threadId: null,
      seq: quoted.seq + 1,
      rev: 1,
      author: { id: ann.id, userName: ann.userName },
      content: `hello @${bob.userName}`,
      attachments: [],
      images: [],
      imageSizes: {},
      blocks: [],
      previews: [],
      quotedMessageId: quoted.id,
      mentions: [bob.id],
      pinnedAt: null,
      createdAt: expect.any(Number),
      updatedAt: null,
      reactions: {},
      threadMeta: null,
    }
    expect(response.body).toEqual({ message })
    await environment.events.to(bob).toHave('NEW_MESSAGE', response.body.message)
    await environment.events.to(cat).neverHave('NEW_MESSAGE', { id: response.body.message.id })
    const listed = await bob.get(`/channels/${environment.channel.secret.id}/messages?limit=1`)
    expect(listed.body.messages).toEqual([response.body.message])
  })

  test('is allowed for those who may read the channel', async () => {
    const { ada, ann, bob, cat, nobody } = environment.people
    const statuses = (channelId: string) =>
      Promise.all(
        [ada, ann, bob, cat, nobody].map(
          async (person) => (await person.post(`/channels/${channelId}/messages`, { content: 'x' })).status,
        ),
      )
    expect(await statuses(environment.channel.secret.id)).toEqual([200, 200, 200, 403, 401])
    expect(await statuses(environment.channel.open.id)).toEqual([200, 200, 200, 200, 401])
    expect(await statuses(unknown)).toEqual([404, 404, 404, 404, 401])
    expect(await statuses('nonsense')).toEqual([404, 404, 404, 404, 401])
  })

  test('is refused after the session has ended, even if the token is still valid', async () => {
    const dan = await Person.signIn(environment.baseUrl, 'dan@example.com')
    await dan.says('hello', environment.channel.open)
    await environment.deps.db
      .updateTable('sessions')
      .set({ endedAt: Date.now() })
      .where('userId', '=', dan.id)
      .execute()
    for (const channelId of [environment.channel.open.id, 'nonsense']) {
      for (const body of [{ content: 'x' }, {}, { content: '' }, '{"content":', { content: 'x', images: ['no.png'] }]) {
        expect(await dan.post(`/channels/${channelId}/messages`, body)).toMatchObject({ status: 401 })
      }
    }
  })

  test.each([
    ['nothing', {}],
    ['no content', { attachments: [] }],
    ['a blank content', { content: ' \n\t' }],
    ['only invisible characters', { content: '\u200B \u2060\uFE0F\u3164' }],
    ['a content of another type', { content: null }],
    ['a content that is too long', { content: 'x'.repeat(16_001) }],
    ['U+0000', { content: 'a\0b' }],
    ['an unknown quote', { content: 'x', quotedMessageId: unknown }],
    ['a quoted id that has not the form of an id', { content: 'x', quotedMessageId: 'nonsense' }],
    ['an unknown image', { content: 'x', images: ['unknown.png'] }],
    [
      'an unknown attachment',
      {
        content: 'x',
        attachments: [{ filename: 'a.pdf', originalName: 'a.pdf', contentType: 'application/pdf', size: 1 }],
      },
    ],
    ['an attachment that is a text', { content: 'x', attachments: ['a.pdf'] }],
    ['a list', []],
    ['broken JSON', '{"content":'],
  ])('%s is refused', async (_what, body) => {
    const { ann } = environment.people
    expect(await ann.post(`/channels/${environment.channel.open.id}/messages`, body)).toMatchObject({
      status: 400,
      body: { error: expect.any(String) },
    })
  })

  test('an empty list of images allows an empty content', async () => {
    const { ann } = environment.people
    const path = `/channels/${environment.channel.open.id}/messages`
    expect(await ann.post(path, { content: '', images: [] })).toMatchObject({
      status: 200,
      body: { message: { content: '', images: [] } },
    })
    expect(await ann.post(path, { content: '', attachments: [] })).toMatchObject({ status: 200 })
  })

  test('16,000 characters are stored unchanged', async () => {
    const { ann } = environment.people
    const content = '日🎉'.repeat(5_333)
    expect((await ann.says(content, environment.channel.open)).content).toBe(content)
  })

  test('a lone surrogate is replaced in the response, in the event and in the row', async () => {
    const { ann, bob } = environment.people
    const path = `/channels/${environment.channel.open.id}/messages`
    const { body } = await ann.post(path, '{"content":"half \\ud83c"}')
    expect(body.message.content).toBe('half \ufffd')
    await environment.events.to(bob).toHave('NEW_MESSAGE', body.message)
    expect((await bob.get(`${path}?limit=1`)).body.messages).toEqual([body.message])
  })
})

describe('a person who posts to a public channel joins it', () => {
  const isMember = async (person: Person, { id }: { id: string }) => {
    const { body } = await environment.people.ada.get(`/channels/${id}`)
    return body.channel.members.includes(person.id)
  }
  const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>')
  const newcomer = () => Person.signIn(environment.baseUrl, `${uuidv7()}@example.com`)

  test.each<[string, (person: Person, channel: Channel) => Promise<unknown>]>([
    ['a message', (person, channel) => person.says('hello', channel)],
    [
      'a message with files',
      async (person, channel) => {
        const image = await person.uploadsImage(`/channels/${channel.id}/messages`, 'a.svg', svg)
        expect(await isMember(person, channel)).toBe(false)
        return person.sends(channel, { images: [image] })
      },
    ],
    [
      'a reply',
      async (person, channel) => {
        const parent = await environment.people.ann.says('parent', channel)
        expect(await person.post(`/messages/${parent.id}/thread`, { content: 'reply' })).toMatchObject({ status: 200 })
      },
    ],
  ])('by %s, and its members receive the event', async (_what, posts) => {
    const { ann } = environment.people
    const channel = await ann.creates({ name: uuidv7() })
    const person = await newcomer()
    expect(await isMember(person, channel)).toBe(false)
    await posts(person, channel)
    expect(await isMember(person, channel)).toBe(true)
    await environment.events.to(ann).toHave('UPDATE_CHANNEL', { id: channel.id, joined: [person.id] })
  })

  test('nobody joins by a refused message or reply, by reading, reacting or editing', async () => {
    const { ann } = environment.people
    const channel = await ann.creates({ name: uuidv7() })
    const parent = await ann.says('parent', channel)
    const person = await newcomer()
    const quote = { content: 'x', quotedMessageId: unknown }
    expect(await person.post(`/channels/${channel.id}/messages`, quote)).toMatchObject({ status: 400 })
    expect(await person.post(`/channels/${channel.id}/messages`, { ...quote, images: ['no.png'] })).toMatchObject({
      status: 400,
    })
    expect(await person.post(`/messages/${parent.id}/thread`, quote)).toMatchObject({ status: 400 })
    expect(await person.post(`/messages/${parent.id}/reactions`, { reaction: 'x' })).toMatchObject({ status: 200 })
    expect(await person.get(`/channels/${channel.id}/messages`)).toMatchObject({ status: 200 })
    expect(await isMember(person, channel)).toBe(false)
  })

  test('an admin does not join a private channel by posting', async () => {
    const { ada, bob } = environment.people
    const { secret } = environment.channel
    const parent = await ada.says('hello', secret)
    expect(await ada.post(`/messages/${parent.id}/thread`, { content: 'reply' })).toMatchObject({ status: 200 })
    expect(await isMember(ada, secret)).toBe(false)
    expect(await isMember(bob, secret)).toBe(true)
  })
})

describe('Idempotency-Key', () => {
  const send = (content: string, key: string, channel = environment.channel.open) =>
    environment.people.ann.post(`/channels/${channel.id}/messages`, { content }, { 'idempotency-key': key })

  test('a repeated request gets the first answer and stores nothing', async () => {
    const first = await send('once', 'key 1')
    expect(first.status).toBe(200)
    expect(await send('once', 'key 1')).toMatchObject({ status: 200, body: first.body })
    const { body } = await environment.people.ann.get(`/channels/${environment.channel.open.id}/messages`)
    expect(body.messages.filter(({ content }: Message) => content === 'once')).toHaveLength(1)
  })

  test('the same key with another content or channel is refused', async () => {
    await send('one', 'key 2')
    const refused = { status: 400, body: { code: 'idempotency_key_reused' } }
    expect(await send('two', 'key 2')).toMatchObject(refused)
    expect(await send('one', 'key 2', environment.channel.general)).toMatchObject(refused)
  })

  test('the keys of different people are independent', async () => {
    const first = await send('same', 'key 3')
    const path = `/channels/${environment.channel.open.id}/messages`
    const other = await environment.people.bob.post(path, { content: 'same' }, { 'idempotency-key': 'key 3' })
    expect(other).toMatchObject({ status: 200, body: { message: { seq: first.body.message.seq + 1 } } })
  })

  test('a key can be used again after 24 hours', async () => {
    const first = await send('daily', 'key 4')
    await environment.deps.db
      .updateTable('idempotencyKeys')
      .set({ createdAt: Date.now() - 24 * 3_600_000 })
      .where('key', '=', 'key 4')
      .execute()
    const second = await send('daily', 'key 4')
    expect(second.status).toBe(200)
    expect(second.body.message.id).not.toBe(first.body.message.id)
  })

  test.each(['', 'x'.repeat(256), 'tab\there'])('%j is refused', async (key) => {
    expect(await send('x', key)).toMatchObject({ status: 400 })
  })
})
