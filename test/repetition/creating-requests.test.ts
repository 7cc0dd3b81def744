import { randomUUID } from 'node:crypto'
import { type HttpResponse, Person, samples } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { describe, expect, test } from 'vitest'

const environment = testEnvironment()

interface Creation {
  as?: 'ada' | 'ann'
  path: () => string
  body: (mark: string) => object
  /** The number of created things. */
  count: (mark: string) => Promise<number>
}

const listed = async (person: Person, path: string, has: (item: Record<string, unknown>) => boolean) => {
  const { body } = await person.get(path)
  const [items] = Object.values(body).filter(Array.isArray)
  return items!.filter(has).length
}
const stored = (originalName: string) =>
  environment.deps.db
    .selectFrom('uploads')
    .select('filename')
    .where('originalName', '=', originalName)
    .where('storedAt', 'is not', null)
    .execute()

const creations: Record<string, Creation> = {
  '/channels': {
    path: () => '/channels',
    body: (mark) => ({ name: mark, topic: 'a topic', members: [environment.people.bob.id] }),
    count: (mark) => listed(environment.people.ann, '/channels', ({ name }) => name === mark),
  },
  '/conversations': {
    path: () => '/conversations',
    body: (mark) => ({ targetUserId: mark === 'another' ? environment.people.cat.id : environment.people.bob.id }),
    count: () =>
      listed(
        environment.people.ann,
        '/conversations',
        ({ otherUser }) => (otherUser as Person).id === environment.people.bob.id,
      ),
  },
  '/webhooks': {
    as: 'ada',
    path: () => '/webhooks',
    body: (mark) => ({ name: mark, channelId: environment.channel.open.id }),
    count: (mark) => listed(environment.people.ada, '/webhooks', ({ name }) => name === mark),
  },
  '/users/add': {
    as: 'ada',
    path: () => '/users/add',
    body: (mark) => ({ email: `${mark}@example.com`, password: 'a password' }),
    count: (mark) => listed(environment.people.ada, '/users', ({ email }) => email === `${mark}@example.com`),
  },
  '/groups': {
    as: 'ada',
    path: () => '/groups',
    body: (mark) => ({ handle: `team-${mark}`, name: mark }),
    count: (mark) => listed(environment.people.ada, '/groups', ({ name }) => name === mark),
  },
  '/files': {
    path: () => '/files',
    body: (mark) => ({ filename: `${mark}.pdf`, file: samples.pdf.toString('base64') }),
    count: async (mark) => (await stored(`${mark}.pdf`)).length,
  },
  '/channels/{channelId}/messages/image': {
    path: () => `/channels/${environment.channel.open.id}/messages/image`,
    body: (mark) => ({ filename: `${mark}.png`, image: samples.png.toString('base64') }),
    count: async (mark) => (await stored(`${mark}.png`)).length,
  },
}

describe('a request that creates something, repeated with its Idempotency-Key,', () => {
  test.each(Object.entries(creations))(
    'gets the first response and creates nothing: POST %s',
    async (_what, creation) => {
      const { as = 'ann', path, body, count } = creation
      const person = environment.people[as]
      const mark = `once-${randomUUID().slice(0, 8)}`
      const key = { 'idempotency-key': randomUUID() }
      const asks = (): Promise<HttpResponse> => person.post(path(), body(mark), key)

      const together = await Promise.all(Array.from({ length: 8 }, asks))
      const answered = together.filter(({ status }) => status === 200)
      expect(together.filter(({ status }) => status !== 200 && status !== 409)).toEqual([])
      for (const { body } of [...answered, await asks()]) expect(body).toEqual(answered[0]!.body)
      expect(await count(mark)).toBe(1)

      const reused = await person.post(path(), body('another'), key)
      expect(reused).toMatchObject({ status: 400, body: { code: 'idempotency_key_reused' } })
      expect(await person.post(path(), body('another'), { 'idempotency-key': randomUUID() })).toMatchObject({
        status: 200,
      })
    },
  )

  test('gets the first response: POST /files/binary and POST /admin/exports', async () => {
    const { ada } = environment.people
    for (const [path, body] of [
      ['/files/binary?filename=a.txt', 'some bytes'],
      ['/admin/exports', undefined],
    ] as const) {
      const asks = (key: string) => ada.post(path, body, { 'idempotency-key': key, 'content-type': 'text/plain' })
      const first = await asks(path)
      expect((await asks(path)).body).toEqual(first.body)
      expect((await asks(`${path} again`)).body).not.toEqual(first.body)
    }
  })

  test('was refused: it may be put right and sent again with the same key', async () => {
    const { ann } = environment.people
    const key = { 'idempotency-key': randomUUID() }
    expect(await ann.post('/channels', { name: 'open' }, key)).toMatchObject({
      status: 400,
      body: { code: 'duplicate' },
    })
    expect(await ann.post('/channels', { name: 'put right' }, key)).toMatchObject({ status: 200 })
  })

  test('holds a key that nobody else can use', async () => {
    const { ann, bob } = environment.people
    const key = { 'idempotency-key': randomUUID() }
    const first = await ann.post('/channels', { name: 'mine' }, key)
    expect(first).toMatchObject({ status: 200 })
    expect(await bob.post('/channels', { name: 'mine' }, key)).toMatchObject({
      status: 400,
      body: { code: 'duplicate' },
    })
  })
})

test('the repeated response has the token of a webhook, the token works, and no row of the database has it', async () => {
  const { ada } = environment.people
  const wish = { name: 'sealed', channelId: environment.channel.open.id }
  const key = { 'idempotency-key': randomUUID() }
  await ada.post('/webhooks', wish, key)
  const { webhook } = (await ada.post('/webhooks', wish, key)).body
  const bot = new Person(environment.baseUrl, { id: '', userName: 'sealed' }, webhook.token)
  expect(await bot.post(`/webhooks/${webhook.id}/messages`, { content: 'beep' })).toMatchObject({ status: 200 })

  const rows = await environment.deps.db.selectFrom('idempotencyKeys').selectAll().execute()
  expect(rows.length).toBeGreaterThan(0)
  const texts = rows.flatMap(({ answer }) => [answer, Buffer.from(answer, 'base64').toString('latin1')])
  expect(texts.filter((text) => text.includes(webhook.token))).toEqual([])
})

test('OpenAPI has the header on the routes that accept it, and on no others', async () => {
  const { body } = await environment.people.ann.get('/openapi.json')
  const operations = Object.entries<Record<string, { parameters?: { name: string }[] }>>(body.paths).flatMap(
    ([path, methods]) => Object.entries(methods).map(([method, { parameters = [] }]) => ({ path, method, parameters })),
  )
  const keyed = operations
    .filter(({ parameters }) => parameters.some(({ name }) => name === 'idempotency-key'))
    .map(({ method, path }) => `${method} ${path}`)
  expect(keyed.toSorted()).toEqual(
    [
      ...Object.keys(creations),
      '/admin/exports',
      '/apps/{botId}/messages',
      '/channels/{channelId}/messages',
      '/conversations/{conversationId}/messages',
      '/conversations/{conversationId}/messages/image',
      '/files/binary',
      '/messages/{messageId}/thread',
      '/messages/{messageId}/thread/image',
      '/webhooks/{webhookId}/messages',
    ]
      .map((path) => `post ${path}`)
      .toSorted(),
  )
})
