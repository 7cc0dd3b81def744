import { setTimeout as delay } from 'node:timers/promises'
import type { Message } from '@parley/contract'
import { uuidv7 } from '@parley/database'
import { Person } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { searchMessages, searchSizes } from './search.ts'
import { searchRequest } from './search-request.fixture.ts'

const environment = testEnvironment()
let word = 0
/** A word that no other test uses. */
const fresh = () => `word${++word}x${uuidv7().slice(-6)}`

const search = (person: Person, query: Record<string, string | number>) =>
  person.get(`/search/messages?${new URLSearchParams(query as Record<string, string>)}`)

async function found(person: Person, query: Record<string, string | number>): Promise<string[]> {
  const { status, body } = await search(person, query)
  expect({ status, body }).toMatchObject({ status: 200 })
  return body.messages.map(({ id }: Message) => id)
}

/** Waits until everything recorded so far is in the projection. */
async function projected() {
  const { pool } = environment.deps
  // Not `expect.poll`, which is for tests alone: hooks wait as well.
  await vi.waitFor(
    async () => {
      const { rows } = await pool.query(
        `select p.seen_id >= (select coalesce(max(id), 0) from outbox) and p.unread_below is null as done from search_progress p`,
      )
      expect(rows).toEqual([{ done: true }])
    },
    { timeout: 20_000, interval: 20 },
  )
}

type Store<Row, Stored> = (row: Row) => Promise<Stored>

/** Stores the row of each test directly before the test. */
const eachBeforeItsTest =
  <Row, Stored>(rows: readonly Row[], store: Store<Row, Stored>) =>
  (row: number) =>
    store(rows[row]!)

/** Stores all rows before the first test, so that there is only one wait for the projection. */
function allBeforeTheFirst<Row, Stored>(rows: readonly Row[], store: Store<Row, Stored>) {
  const stored: Stored[] = []
  beforeAll(async () => {
    for (const row of rows) stored.push(await store(row))
    await projected()
  })
  return async (row: number): Promise<Stored> => stored[row] as Stored
}

/** Each test runs twice: as soon as the message is acknowledged, and when the projection has it. */
const moments: [when: string, ready: () => Promise<void>, prepare: typeof allBeforeTheFirst][] = [
  ['at once', async () => {}, eachBeforeItsTest],
  ['when the projection has it', projected, allBeforeTheFirst],
]

describe.each(moments)('GET /search/messages, %s', (_when, ready, prepare) => {
  test('finds a part of the content, whatever its case, with the whole message', async () => {
    const { ann, bob } = environment.people
    const part = fresh()
    const message = await ann.says(`before${part.toUpperCase()}after`, environment.channel.open)
    await ann.says('something else', environment.channel.open)
    await ready()
    expect((await search(bob, { q: `  ${part} ` })).body).toEqual({ messages: [message] })
    expect(await found(bob, { q: `${part}b` })).toEqual([])
  })

  describe('of any script', () => {
    const texts: [script: string, content: string, q: string][] = [
      ['two characters of Japanese', '昨日は東京へ行きました', '東京'],
      ['one character of Chinese', '我們明天見', '明'],
      ['Cyrillic', 'Привет, Мир', 'ПРИВЕТ'],
      ['Greek with a final sigma', 'Ο Οδυσσεύς', 'ΟΔΥΣΣΕΎΣ'],
      ['Korean', '안녕하세요', '녕하'],
      ['full-width letters', 'ＰＡＲＬＥＹ', 'parley'],
      ['a sharp s', 'Straße', 'STRASSE'],
      ['a dotless i', 'ılık', 'ILIK'],
      ['accents in another form', 'cafe\u0301', 'café'],
      ['a pile of marks, of which thirty count', `q${'\u0301\u0323'.repeat(100)}`, `q${'\u0301\u0323'.repeat(150)}`],
      ['emoji', 'well done 👩‍🚀🎉', '🚀🎉'],
      ['two letters', 'x qz x', 'QZ'],
      ['a line break', 'one\ntwo', 'one\ntwo'],
    ]
    const prepared = prepare(texts, async ([, content]) => {
      const { ann } = environment.people
      const channel = await ann.creates({ name: fresh() })
      const message = await ann.says(content, channel)
      await ann.says('nothing of it', channel)
      return { channelId: channel.id, id: message.id }
    })
    test.each(texts.map(([script, , q], row) => [script, q, row] as const))('%s', async (_script, q, row) => {
      const { ann } = environment.people
      const { channelId, id } = await prepared(row)
      expect(await found(ann, { q, channelId })).toEqual([id])
      expect(await found(ann, { q })).toContain(id)
    })
  })

  describe('literally', () => {
    const texts = ['%', '_', '*', '\\', "'", '"', '.', '$1', '100%', '<b>']
    const prepared = prepare(texts, async () => {
      const { ann } = environment.people
      const channel = await ann.creates({ name: fresh() })
      const message = await ann.says(`a 100%_*\\'"$1.<b> b`, channel)
      await ann.says('plain words', channel)
      return { channelId: channel.id, id: message.id }
    })
    test.each(texts.map((q, row) => [q, row] as const))('%s', async (q, row) => {
      const { channelId, id } = await prepared(row)
      expect(await found(environment.people.ann, { q, channelId })).toEqual([id])
    })
  })

  test('finds the messages of people with that name, by their current name, also of removed people', async () => {
    const { ada, ann } = environment.people
    const [first, second] = [fresh(), fresh()]
    const zoe = await Person.signIn(environment.baseUrl, `${fresh()}@example.com`)
    await zoe.put('/users/me', { userName: `Zoé ${first}` })
    const message = await zoe.says('hello', environment.channel.open)
    await ready()
    expect(await found(ann, { q: `ZOÉ ${first}` })).toEqual([message.id])
    await zoe.put('/users/me', { userName: second })
    expect(await found(ann, { q: first })).toEqual([])
    await ada.delete(`/users/${zoe.id}`)
    expect(await found(ann, { q: second })).toEqual([message.id])
  })

  describe('by names, which are compared like texts', () => {
    const names: [name: string, q: string][] = [
      ['Straße', 'STRASSE'],
      ['Οδυσσεύς', 'ΟΔΥΣΣΕΎΣ'],
      ['Ilık', 'ılıK'],
      ['ᾠδή', 'ὨΙΔΉ'],
      ['ＷＩＤＥ', 'wide'],
    ]
    const prepared = prepare(names, async ([name]) => {
      const part = fresh()
      const zoe = await Person.signIn(environment.baseUrl, `${fresh()}@example.com`)
      expect((await zoe.put('/users/me', { userName: `${name} ${part}` })).status).toBe(200)
      return { part, id: (await zoe.says('hello', environment.channel.open)).id }
    })
    test.each(names.map(([name, q], row) => [name, q, row] as const))('%s by %s', async (_name, q, row) => {
      const { ann } = environment.people
      const { part, id } = await prepared(row)
      expect(await found(ann, { q: `${q} ${part}` })).toEqual([id])
      expect(await found(ann, { q: `${q}x ${part}` })).toEqual([])
    })
  })

  test('finds the messages of a webhook, by text, by name, and by its id', async () => {
    const { ada, ann } = environment.people
    const [name, text] = [fresh(), fresh()]
    const { webhook } = (await ada.post('/webhooks', { name: `The ${name}`, channelId: environment.channel.open.id }))
      .body
    const bot = new Person(environment.baseUrl, { id: '', userName: 'bot' }, webhook.token)
    const posted = await bot.post(`/webhooks/${webhook.id}/messages`, { content: `it ${text}` })
    const { id } = posted.body.message
    await ada.delete(`/webhooks/${webhook.id}`)
    await ready()
    expect(await found(ann, { q: `THE ${name}` })).toEqual([id])
    expect(await found(ann, { q: text, authorId: `webhook:${webhook.id}` })).toEqual([id])
    expect(await found(ann, { q: text, authorId: webhook.id })).toEqual([])
    expect(await found(ann, { q: text, authorId: ann.id })).toEqual([])
  })

  test('finds the message of a webhook by the name that it shows, and by the name of the webhook', async () => {
    const { ada, ann } = environment.people
    const [name, shown] = [fresh(), fresh()]
    const wish = { name: `The ${name}`, channelId: environment.channel.open.id }
    const { webhook } = (await ada.post('/webhooks', wish)).body
    const bot = new Person(environment.baseUrl, { id: '', userName: 'bot' }, webhook.token)
    const posted = await bot.post(`/webhooks/${webhook.id}/messages`, { content: 'down', userName: `Shown ${shown}` })
    await ready()
    expect(await found(ann, { q: `shown ${shown}` })).toEqual([posted.body.message.id])
    expect(await found(ann, { q: name })).toEqual([posted.body.message.id])
  })

  test('finds attached files by their names, each by itself', async () => {
    const { ann } = environment.people
    const [one, two] = [fresh(), fresh()]
    const message = await ann.says('see below', environment.channel.open)
    const file = (originalName: string) => ({ filename: uuidv7(), originalName, contentType: 'text/plain', size: 1 })
    await environment.deps.db
      .updateTable('messages')
      .set({ attachments: JSON.stringify([file(`${one}.PDF`), file(`${two}.txt`)]) })
      .where('id', '=', message.id)
      .execute()
    await ann.put(`/messages/${message.id}`, { content: 'see above' })
    await ready()
    expect(await found(ann, { q: `${one}.pdf` })).toEqual([message.id])
    expect(await found(ann, { q: `${two}.TXT` })).toEqual([message.id])
    expect(await found(ann, { q: `pdf${two}` })).toEqual([])
  })

  test('edits and deletions count, of a parent with its replies', async () => {
    const { ann } = environment.people
    const [old, now] = [fresh(), fresh()]
    const edited = await ann.says(old, environment.channel.open)
    const parent = await ann.says(old, environment.channel.open)
    const { reply } = (await ann.post(`/messages/${parent.id}/thread`, { content: `in a thread ${old}` })).body
    await ready()
    expect(await found(ann, { q: old })).toEqual([reply.id, parent.id, edited.id])
    await ann.put(`/messages/${edited.id}`, { content: now })
    await ann.put(`/messages/${parent.id}/thread/${reply.id}`, { content: `${old} ${now}` })
    await ready()
    expect(await found(ann, { q: old })).toEqual([reply.id, parent.id])
    expect(await found(ann, { q: now })).toEqual([reply.id, edited.id])
    await ann.delete(`/messages/${parent.id}`)
    await ready()
    expect(await found(ann, { q: old })).toEqual([])
    expect(await found(ann, { q: now })).toEqual([edited.id])
  })

  describe('only what the caller may read', () => {
    test('private channels are found by members and admins, conversations by their two people alone', async () => {
      const { ada, ann, bob, cat } = environment.people
      const q = fresh()
      const secret = (await ann.says(q, environment.channel.secret)).id
      const { conversation } = (await ann.post('/conversations', { targetUserId: bob.id })).body
      const direct = (await ann.post(`/conversations/${conversation.id}/messages`, { content: q })).body.message.id
      await ready()
      expect(await found(ann, { q })).toEqual([direct, secret])
      expect(await found(bob, { q })).toEqual([direct, secret])
      expect(await found(cat, { q })).toEqual([])
      expect(await found(ada, { q })).toEqual([secret])
      expect(await found(bob, { q, conversationId: conversation.id })).toEqual([direct])
      expect(
        await found(bob, { q, conversationId: conversation.id, channelId: environment.channel.secret.id }),
      ).toEqual([])
      for (const outsider of [cat, ada]) {
        expect((await search(outsider, { q, conversationId: conversation.id })).status).toBe(403)
      }
      expect((await search(cat, { q, channelId: environment.channel.secret.id })).status).toBe(403)
    })

    test('a channel that becomes private, and one that is deleted', async () => {
      const { ann, cat } = environment.people
      const q = fresh()
      const channel = await ann.creates({ name: fresh() })
      const { id } = await ann.says(q, channel)
      await ready()
      expect(await found(cat, { q })).toEqual([id])
      await ann.put(`/channels/${channel.id}`, { isPrivate: true })
      expect([await found(cat, { q }), await found(ann, { q })]).toEqual([[], [id]])
      await ann.delete(`/channels/${channel.id}`)
      expect(await found(ann, { q })).toEqual([])
      expect((await search(ann, { q, channelId: channel.id })).status).toBe(404)
    })
  })

  test('filters are all demanded, moments included', async () => {
    const { ann, bob } = environment.people
    const q = fresh()
    const here = await ann.creates({ name: fresh() })
    const said: Message[] = []
    for (const person of [ann, bob, ann]) said.push(await person.says(q, here))
    said.push(await ann.says(q, environment.channel.open))
    await ready()
    const [first, second, third, elsewhere] = said as [Message, Message, Message, Message]
    expect(await found(bob, { q })).toEqual([elsewhere.id, third.id, second.id, first.id])
    expect(await found(bob, { q, channelId: here.id, authorId: ann.id })).toEqual([third.id, first.id])
    expect(await found(bob, { q, authorId: bob.id })).toEqual([second.id])
    const { createdAt } = second
    const within = said.filter((each) => each.createdAt === createdAt).map(({ id }) => id)
    expect((await found(bob, { q, from: createdAt, to: createdAt })).sort()).toEqual(within.sort())
    expect(await found(bob, { q, from: elsewhere.createdAt + 1 })).toEqual([])
    expect(await found(bob, { q, to: first.createdAt - 1 })).toEqual([])
  })

  test('pages by limit and before reach everything once', async () => {
    const { ann } = environment.people
    const q = fresh()
    const said: string[] = []
    for (let n = 0; n < 7; n++) said.unshift((await ann.says(`${q} ${n}`, environment.channel.open)).id)
    await ready()
    expect(await found(ann, { q, limit: 3 })).toEqual(said.slice(0, 3))
    expect(await found(ann, { q, limit: 3, before: said[2]! })).toEqual(said.slice(3, 6))
    expect(await found(ann, { q, limit: 1_000, before: said[5]! })).toEqual(said.slice(6))
  })
})

/**
 * The number of statements that wait for permission to read the projection. Writers and `analyze` take another lock.
 */
async function waiting(): Promise<number> {
  const { rows } = await environment.deps.pool.query(
    `select from pg_locks where not granted and relation = 'message_search'::regclass and mode = 'AccessShareLock'
       and database = (select oid from pg_database where datname = current_database())`,
  )
  return rows.length
}

describe('GET /search/messages refuses', () => {
  let hidden: Message
  beforeAll(async () => {
    hidden = await environment.people.ann.says('hidden', environment.channel.secret)
  })

  test.each([
    ['no q', 400, {}],
    ['a blank q', 400, { q: ' \n\t' }],
    ['U+0000', 400, { q: 'a\0b' }],
    ['more than 1,000 characters', 400, { q: 'ß'.repeat(1_001) }],
    ['a limit of 0', 400, { q: 'a', limit: 0 }],
    ['a limit that is no integer', 400, { q: 'a', limit: '1.5' }],
    ['a moment that is none', 400, { q: 'a', from: 'yesterday' }],
    ['a moment beyond all', 400, { q: 'a', to: '1e400' }],
    ['an unknown channel', 404, { q: 'a', channelId: uuidv7() }],
    ['a channel id of another form', 404, { q: 'a', channelId: 'nonsense' }],
    ['an unknown conversation', 404, { q: 'a', conversationId: `dm:${uuidv7()}` }],
    ['an unknown message to go on from', 400, { q: 'a', before: uuidv7() }],
    ['what is no message to go on from', 400, { q: 'a', before: 'nonsense' }],
  ])('%s with %i', async (_what, status, query) => {
    expect(await search(environment.people.cat, query as Record<string, string>)).toMatchObject({
      status,
      body: { error: expect.any(String) },
    })
  })

  test('a cursor that the caller may not read, like an unknown one', async () => {
    expect((await search(environment.people.cat, { q: 'a', before: hidden.id })).status).toBe(400)
    expect((await search(environment.people.bob, { q: 'a', before: hidden.id })).status).toBe(200)
  })

  test('a fifth search of one person at the same time', async () => {
    const { cat, bob } = environment.people
    const client = await environment.deps.pool.connect()
    try {
      await client.query('begin')
      await client.query('lock table message_search in access exclusive mode')
      const answers = Array.from({ length: 5 }, () => search(cat, { q: 'a' }))
      const refusal = await Promise.race(answers)
      expect(refusal).toMatchObject({ status: 429, body: { error: expect.any(String) } })
      const other = search(bob, { q: 'a' })
      await client.query('rollback')
      expect((await Promise.all(answers)).map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 429])
      expect((await other).status).toBe(200)
    } finally {
      await client.query('rollback')
      client.release()
    }
    expect((await search(cat, { q: 'a' })).status).toBe(200)
  })

  test('one that takes too long, and it keeps nobody from emptying the outbox', async () => {
    const { deps, people } = environment
    // Otherwise the projector would wait as well.
    await projected()
    const [holder, relay] = [await deps.pool.connect(), await deps.pool.connect()]
    try {
      await holder.query('begin')
      await holder.query('lock table message_search in access exclusive mode')
      const slow = search(people.cat, { q: 'a' })
      await expect.poll(waiting).toBe(1)
      await relay.query('begin; lock table outbox_0, outbox_1, outbox_2 in access exclusive mode')
      expect(await waiting()).toBe(1)
      await relay.query('rollback')
      expect(await slow).toMatchObject({
        status: 503,
        headers: { 'retry-after': '5' },
        body: { error: expect.stringContaining('too long') },
      })
    } finally {
      for (const client of [holder, relay]) {
        await client.query('rollback')
        client.release()
      }
    }
  })

  test('one whose statements take too long together, none of them alone', async () => {
    const { deps, people } = environment
    await people.ann.says('slowly', environment.channel.open)
    await projected()
    const holders = await Promise.all([deps.pool.connect(), deps.pool.connect()])
    try {
      for (const [n, table] of ['message_search', 'messages'].entries()) {
        await holders[n]!.query('begin')
        await holders[n]!.query(`lock table ${table} in access exclusive mode`)
      }
      const slow = searchMessages(environment.depsOf('messaging').db, searchRequest(people.ann.id, 'slowly'), {
        ...searchSizes,
        timeoutMs: 1_200,
      }).catch((error: unknown) => error)
      await expect.poll(waiting).toBe(1)
      // Each table takes two thirds of the time that the search has for both.
      await delay(800)
      await holders[0]!.query('rollback')
      await delay(800)
      await holders[1]!.query('rollback')
      expect(await slow).toMatchObject({ status: 503, message: expect.stringContaining('too long') })
    } finally {
      for (const holder of holders) {
        await holder.query('rollback')
        holder.release()
      }
    }
  })

  test('a request without a token', async () => {
    expect((await search(environment.people.nobody, { q: 'a' })).status).toBe(401)
  })
})

describe('GET /search/messages finds nothing', () => {
  test.each([
    ['an author nobody is', { authorId: uuidv7() }],
    ['an author of another form', { authorId: 'nonsense' }],
    ['a webhook that never was', { authorId: `webhook:${uuidv7()}` }],
    ['a time that ends before it begins', { from: 2, to: 1 }],
  ])('for %s', async (_what, query) => {
    await environment.people.ann.says('a word', environment.channel.open)
    expect(await found(environment.people.ann, { q: 'a', ...(query as Record<string, string>) })).toEqual([])
  })
})
