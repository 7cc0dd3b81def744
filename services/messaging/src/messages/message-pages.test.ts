import type { Message } from '@parley/contract'
import { uuidv7 } from '@parley/database'
import { testEnvironment } from '@parley/test/test-environment'
import { beforeAll, describe, expect, test } from 'vitest'

const environment = testEnvironment()

describe('pages of a list of ten messages, of which the sixth is deleted', () => {
  let path: string
  let messages: Message[]

  beforeAll(async () => {
    const { ann, bob } = environment.people
    const channel = await ann.creates({ name: 'pages' })
    path = `/channels/${channel.id}/messages`
    messages = []
    for (let n = 1; n <= 10; n++) messages.push(await (n % 2 ? ann : bob).says(`${n}`, channel))
    expect((await bob.delete(`/messages/${messages[5]!.id}`)).status).toBe(200)
  })

  /** The returned messages, and whether there are more on either side, in the form `3 4 | older newer`. */
  async function page(query: string): Promise<string> {
    const { status, body } = await environment.people.bob.get(`${path}?${query}`)
    expect(status).toBe(200)
    const ends = [body.hasOlder && 'older', body.hasNewer && 'newer'].filter(Boolean)
    return `${body.messages.map(({ content }: Message) => content).join(' ')} | ${ends.join(' ')}`
  }
  const id = (n: number) => messages[n - 1]!.id

  test.each<[string, () => string, string]>([
    ['the newest', () => 'limit=3', '8 9 10 | older'],
    ['all', () => 'limit=20', '1 2 3 4 5 7 8 9 10 | '],
    ['before one', () => `limit=3&before=${id(5)}`, '2 3 4 | older newer'],
    ['before the first', () => `limit=3&before=${id(1)}`, ' | newer'],
    ['before a deleted one', () => `limit=2&before=${id(6)}`, '4 5 | older newer'],
    ['after one', () => `limit=3&after=${id(4)}`, '5 7 8 | older newer'],
    ['after the last', () => `limit=3&after=${id(10)}`, ' | older'],
    ['after a deleted one, up to the end', () => `limit=4&after=${id(6)}`, '7 8 9 10 | older'],
    ['around one', () => `limit=4&around=${id(4)}`, '2 3 4 5 | older newer'],
    ['around one, an odd number', () => `limit=3&around=${id(4)}`, '3 4 5 | older newer'],
    ['around a deleted one', () => `limit=4&around=${id(6)}`, '4 5 7 8 | older newer'],
    ['around the first', () => `limit=4&around=${id(1)}`, '1 2 3 4 | newer'],
    ['around the last', () => `limit=4&around=${id(10)}`, '7 8 9 10 | older'],
    ['around one alone', () => `limit=1&around=${id(4)}`, '4 | older newer'],
    ['around a seq', () => 'limit=4&aroundSeq=4', '2 3 4 5 | older newer'],
    ['around a seq beyond the end', () => 'limit=4&aroundSeq=999', '7 8 9 10 | older'],
    ['around the beginning', () => 'limit=4&aroundSeq=0', '1 2 3 4 | newer'],
    ['around a seq, more than there is', () => 'limit=100&aroundSeq=5', '1 2 3 4 5 7 8 9 10 | '],
  ])('%s', async (_what, query, expected) => expect(await page(query())).toBe(expected))

  test.each<[string, () => string]>([
    ['two places', () => `before=${id(5)}&after=${id(2)}`],
    ['a message and a seq', () => `around=${id(5)}&aroundSeq=2`],
    ['an unknown message', () => `after=${uuidv7()}`],
    ['no id', () => 'around=nonsense'],
    ['a negative seq', () => 'aroundSeq=-1'],
    ['no number', () => 'aroundSeq=first'],
  ])('%s is refused', async (_what, query) => {
    expect(await environment.people.bob.get(`${path}?${query()}`)).toMatchObject({
      status: 400,
      body: { error: expect.any(String) },
    })
  })

  test('a message of another channel is no cursor in this one', async () => {
    const elsewhere = await environment.people.ann.says('elsewhere', environment.channel.open)
    for (const parameter of ['before', 'after', 'around']) {
      expect((await environment.people.bob.get(`${path}?${parameter}=${elsewhere.id}`)).status).toBe(400)
    }
  })

  test('pages forwards and backwards meet: every message once', async () => {
    const contents = async (parameter: 'before' | 'after', start: string) => {
      const found: string[] = []
      for (let from = start, more = true; more; ) {
        const { body } = await environment.people.bob.get(`${path}?limit=2&${parameter}=${from}`)
        const page: Message[] = body.messages
        if (parameter === 'after') found.push(...page.map(({ content }) => content))
        else found.unshift(...page.map(({ content }) => content))
        more = parameter === 'after' ? body.hasNewer : body.hasOlder
        from = (parameter === 'after' ? page.at(-1) : page[0])?.id ?? from
      }
      return found
    }
    expect(await contents('after', id(1))).toEqual(['2', '3', '4', '5', '7', '8', '9', '10'])
    expect(await contents('before', id(10))).toEqual(['1', '2', '3', '4', '5', '7', '8', '9'])
  })
})

describe('threads and conversations have the same pages', () => {
  test('a thread', async () => {
    const { ann } = environment.people
    const parent = await ann.says('parent', environment.channel.open)
    const replies: Message[] = []
    for (let n = 1; n <= 5; n++) {
      replies.push((await ann.post(`/messages/${parent.id}/thread`, { content: `${n}` })).body.reply)
    }
    const read = async (query: string) => (await ann.get(`/messages/${parent.id}/thread?${query}`)).body
    expect(await read(`limit=2&around=${replies[2]!.id}`)).toEqual({
      replies: [replies[1], replies[2]],
      hasOlder: true,
      hasNewer: true,
      readSeq: 5,
      isFollowing: true,
    })
    expect(await read(`limit=9&after=${replies[2]!.id}`)).toEqual({
      replies: replies.slice(3),
      hasOlder: true,
      hasNewer: false,
      readSeq: 5,
      isFollowing: true,
    })
  })

  test('a conversation', async () => {
    const { ann, bob } = environment.people
    const { conversation } = (await ann.post('/conversations', { targetUserId: bob.id })).body
    const path = `/conversations/${conversation.id}/messages`
    for (let n = 1; n <= 4; n++) await ann.post(path, { content: `${n}` })
    const { body } = await bob.get(`${path}?limit=2&aroundSeq=2`)
    expect(body).toMatchObject({ messages: [{ content: '1' }, { content: '2' }], hasOlder: false, hasNewer: true })
  })
})

describe('GET /messages/:messageId', () => {
  test('returns the message to people who may read it', async () => {
    const { ada, ann, bob, cat, nobody } = environment.people
    const message = await ann.says('linked', environment.channel.secret)
    const path = `/messages/${message.id}`
    expect(await bob.get(path)).toMatchObject({ status: 200, body: { message } })
    expect((await ada.get(path)).status).toBe(200)
    expect((await cat.get(path)).status).toBe(403)
    expect((await nobody.get(path)).status).toBe(401)
  })

  test('returns replies and direct messages too', async () => {
    const { ada, ann, bob } = environment.people
    const parent = await ann.says('parent', environment.channel.open)
    const { reply } = (await ann.post(`/messages/${parent.id}/thread`, { content: 'reply' })).body
    expect((await bob.get(`/messages/${reply.id}`)).body.message).toEqual(reply)

    const { conversation } = (await ann.post('/conversations', { targetUserId: bob.id })).body
    const { message } = (await ann.post(`/conversations/${conversation.id}/messages`, { content: 'direct' })).body
    expect((await bob.get(`/messages/${message.id}`)).body.message).toEqual(message)
    expect((await ada.get(`/messages/${message.id}`)).status).toBe(403)
  })

  test('does not know a deleted message, nor another id', async () => {
    const { ann } = environment.people
    const message = await ann.says('gone', environment.channel.open)
    await ann.delete(`/messages/${message.id}`)
    for (const id of [message.id, uuidv7(), 'nonsense']) expect((await ann.get(`/messages/${id}`)).status).toBe(404)
  })
})

describe('GET /conversations/:conversationId', () => {
  test('returns the same as the listing, to the participants', async () => {
    const { ada, ann, bob, cat } = environment.people
    const { conversation } = (await ann.post('/conversations', { targetUserId: bob.id })).body
    await ann.post(`/conversations/${conversation.id}/messages`, { content: 'hello' })
    const listed = (await bob.get('/conversations')).body.conversations.find(
      ({ id }: { id: string }) => id === conversation.id,
    )
    expect((await bob.get(`/conversations/${conversation.id}`)).body).toEqual({ conversation: listed })
    for (const other of [cat, ada]) expect((await other.get(`/conversations/${conversation.id}`)).status).toBe(403)
    expect((await bob.get(`/conversations/dm:${uuidv7()}`)).status).toBe(404)
    expect((await bob.get('/conversations/nonsense')).status).toBe(404)
  })
})
