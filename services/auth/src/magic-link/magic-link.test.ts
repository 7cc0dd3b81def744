import { type HttpResponse, Person, somebodyWaitsFor } from '@parley/test'
import { beforeEach, describe, expect, test } from 'vitest'
import { type RunningAuth, runningAuth, tokensOf } from '../auth.testing.ts'

const email = { host: 'mail.example.com' }
const appUrl = 'https://chat.example.com'

/** The steps of a person: ask for a link, read the newest mail, open its link. */
const visitor = (server: RunningAuth) => ({
  ask: (address: unknown) => server.nobody.post('/auth/login', { email: address }),
  async tokenFor(address: string): Promise<string> {
    const mail = (await server.mailTo(address)).at(-1)
    return new URL(/https:\S+/.exec(mail!.text)![0]).searchParams.get('token')!
  },
  follow: (token: string, address: string, path = '/auth/verify'): Promise<HttpResponse> =>
    server.nobody.post(path, { email: address }, { authorization: `Bearer ${token}` }),
})

describe('magic links where an invitation is required', () => {
  const server = runningAuth({ auth: { authMode: 'magic-link', isInviteRequired: true, appUrl }, email })
  const { ask, tokenFor, follow } = visitor(server)

  test('a sign-in and a change of the person that deletes the link do not block each other', async () => {
    const { id } = await server.invite('locked@example.com')
    await ask('locked@example.com')
    const token = await tokenFor('locked@example.com')
    const { response } = await server.deps.db.transaction().execute(async (trx) => {
      await trx.selectFrom('users').select('id').where('id', '=', id).forNoKeyUpdate().execute()
      const response = follow(token, 'locked@example.com')
      await somebodyWaitsFor(trx)
      await trx.deleteFrom('oneTimeLinks').where('userId', '=', id).execute()
      return { response }
    })
    expect(await response).toMatchObject({ status: 401 })
  })

  test('a link signs in a person who was invited, whatever the case of the address', async () => {
    const { id } = await server.invite('ann@example.com')
    const asked = await ask(' ANN@Example.com')
    expect(asked).toMatchObject({ status: 200, body: { success: true, message: expect.any(String) } })

    const [mail] = await server.mailTo('ann@example.com')
    expect(mail).toMatchObject({ subject: 'Your sign-in link' })
    expect(mail!.text).toMatch(/https:\/\/chat\.example\.com\/\?token=login\.[\w.-]+&email=ann%40example\.com\s/)
    expect(mail!.text).toContain('15 minutes')
    expect(mail!.html).toMatch(/href="https:\/\/chat\.example\.com\/\?token=[\w.-]+&amp;email=ann%40example\.com"/)

    const response = await follow(await tokenFor('ann@example.com'), 'Ann@example.com')
    expect(response).toMatchObject({ status: 200, body: tokensOf(900) })
    const ann = new Person(server.nobody.baseUrl, { id, userName: 'ann' }, response.body.accessToken)
    expect(await ann.get('/auth/me')).toMatchObject({ body: { user: { id, email: 'ann@example.com' } } })
  })

  test('a person who was not invited gets the same answer and no mail', async () => {
    await server.invite('bob@example.com')
    const [known, unknown] = [await ask('bob@example.com'), await ask('stranger@example.com')]
    expect(unknown.status).toBe(200)
    expect(unknown.body).toEqual(known.body)
    expect(await server.mailTo('stranger@example.com')).toEqual([])
    const links = server.deps.db.selectFrom('oneTimeLinks').select('email').where('email', '=', 'stranger@example.com')
    expect(await links.execute()).toEqual([])
  })

  test.each([
    ['no address', {}],
    ['something else', { email: 'ann' }],
    ['a number', { email: 7 }],
    ['an address that a mail program reads as another one', { email: 'x<victim@example.com>' }],
    ['a comment before an address', { email: '(x)victim@example.com' }],
    ['an address that NFKC changes', { email: 'ᵃnn@example.com' }],
    ['an encoded word', { email: '=?utf-8?q?ann?=@example.com' }],
    ['two addresses', { email: 'x,victim@example.com' }],
    ['a group of addresses', { email: 'x:victim@example.com;' }],
    ['an endless address', { email: `${'a'.repeat(300)}@example.com` }],
  ])('%s is refused', async (_, body) => {
    expect(await server.nobody.post('/auth/login', body)).toMatchObject({ status: 400 })
  })

  test('a link does not sign in a person who was removed meanwhile', async () => {
    const { id } = await server.invite('gone@example.com')
    await ask('gone@example.com')
    await server.deps.db.updateTable('users').set({ removedAt: 1 }).where('id', '=', id).execute()
    expect(await follow(await tokenFor('gone@example.com'), 'gone@example.com')).toMatchObject({ status: 401 })
  })

  test.each([
    '/auth/password-login',
    '/auth/register',
    '/auth/request-password-reset',
    '/auth/setup-password',
    '/auth/dev-login',
  ])('there is no %s', async (path) => {
    const body = { email: 'ann@example.com', password: 'long enough', token: 'x' }
    expect(await server.nobody.post(path, body)).toMatchObject({ status: 404, body: { error: expect.any(String) } })
  })
})

describe('magic links on an open server', () => {
  const server = runningAuth({ auth: { authMode: 'magic-link', isInviteRequired: false, appUrl }, email })
  const { ask, tokenFor, follow } = visitor(server)
  const peopleWith = (address: string) =>
    server.deps.db
      .selectFrom('users')
      .select('id')
      .where('email', '=', address)
      .where('removedAt', 'is', null)
      .execute()

  test('a new person is created when the link is used, not when it is requested', async () => {
    await ask('new@example.com')
    expect(await peopleWith('new@example.com')).toEqual([])
    expect(await follow(await tokenFor('new@example.com'), 'new@example.com')).toMatchObject({ status: 200 })
    expect(await peopleWith('new@example.com')).toHaveLength(1)
  })

  test('a link works once', async () => {
    await ask('once@example.com')
    const token = await tokenFor('once@example.com')
    expect(await follow(token, 'once@example.com')).toMatchObject({ status: 200 })
    expect(await follow(token, 'once@example.com')).toMatchObject({ status: 401, body: { code: 'unauthorized' } })
  })

  test('ten concurrent uses of a link: one signs in', async () => {
    await ask('race@example.com')
    const token = await tokenFor('race@example.com')
    const responses = await Promise.all(Array.from({ length: 10 }, () => follow(token, 'race@example.com')))
    expect(responses.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(401)])
    expect(await peopleWith('race@example.com')).toHaveLength(1)
  })

  test('a newer link replaces the older one', async () => {
    await ask('twice@example.com')
    const older = await tokenFor('twice@example.com')
    await ask('twice@example.com')
    const newer = await tokenFor('twice@example.com')
    expect(await follow(older, 'twice@example.com')).toMatchObject({ status: 401 })
    expect(await follow(newer, 'twice@example.com')).toMatchObject({ status: 200 })
  })

  test('a link for one address does not work for another', async () => {
    await ask('mine@example.com')
    const token = await tokenFor('mine@example.com')
    expect(await follow(token, 'yours@example.com')).toMatchObject({ status: 401 })
    expect(await peopleWith('yours@example.com')).toEqual([])
    expect(await follow(token, 'mine@example.com')).toMatchObject({ status: 200 })
  })

  test('a link lasts 15 minutes', async () => {
    await ask('late@example.com')
    const token = await tokenFor('late@example.com')
    server.pass(900_000)
    expect(await follow(token, 'late@example.com')).toMatchObject({ status: 401 })
  })

  test('a removed person comes back only by a new link', async () => {
    await ask('back@example.com')
    await follow(await tokenFor('back@example.com'), 'back@example.com')
    await ask('back@example.com')
    const fromBefore = await tokenFor('back@example.com')
    await server.deps.db.updateTable('users').set({ removedAt: 1 }).where('email', '=', 'back@example.com').execute()

    expect(await follow(fromBefore, 'back@example.com')).toMatchObject({ status: 401 })
    await ask('back@example.com')
    expect(await follow(await tokenFor('back@example.com'), 'back@example.com')).toMatchObject({ status: 200 })
  })

  test.each([
    ['no token', undefined],
    ['nonsense', 'nonsense'],
    ['an access token', 'access'],
    ['a refresh token', 'refresh'],
  ])('%s does not sign in', async (_, what) => {
    await ask('tokens@example.com')
    const link = await tokenFor('tokens@example.com')
    const { body } = await follow(link, 'tokens@example.com')
    server.pass(900_000)
    const token = { access: body.accessToken, refresh: body.refreshToken }[what ?? ''] ?? what
    const response =
      token === undefined
        ? await server.nobody.post('/auth/verify', { email: 'tokens@example.com' })
        : await follow(token, 'tokens@example.com')
    expect(response).toMatchObject({ status: 401 })
  })

  test('a link is no access token', async () => {
    await ask('link@example.com')
    const stranger = new Person(server.nobody.baseUrl, { id: '', userName: '' }, await tokenFor('link@example.com'))
    expect(await stranger.get('/auth/me')).toMatchObject({ status: 401 })
  })

  test('an address gets five mails in 15 minutes, for any number of concurrent requests', async () => {
    server.pass(900_000)
    const responses = await Promise.all(Array.from({ length: 12 }, () => ask('bombed@example.com')))
    expect(new Set(responses.map(({ status, body }) => `${status} ${body.message}`)).size).toBe(1)
    expect(await server.mailTo('bombed@example.com')).toHaveLength(5)
    // Only the newest link works, in whatever order they were created.
    const works = await Promise.all(
      (await server.mailTo('bombed@example.com')).map(async ({ text }) => {
        const token = new URL(/https:\S+/.exec(text)![0]).searchParams.get('token')!
        return (await follow(token, 'bombed@example.com')).status
      }),
    )
    expect(works.sort()).toEqual([200, 401, 401, 401, 401])

    server.pass(900_000)
    await ask('bombed@example.com')
    expect(await server.mailTo('bombed@example.com')).toHaveLength(6)
  })
})

describe('many requests for mails', () => {
  const bounds = { perNetwork: 20, perServer: 12 }
  const server = runningAuth({
    auth: { authMode: 'magic-link', isInviteRequired: true, appUrl },
    email: { ...email, ...bounds },
  })
  const ask = (address: string, ip: string) =>
    server.nobody.post('/auth/login', { email: address }, { 'x-forwarded-for': ip })
  const mails = async () =>
    (await server.deps.db.selectFrom('jobs').select('id').where('name', '=', 'send-mail').execute()).length
  beforeEach(async () => {
    server.pass(900_000)
    await server.deps.db.deleteFrom('jobs').execute()
  })

  test('for a hundred spellings with + of one address send five mails, from any network', async () => {
    await server.invite('victim@example.com')
    for (let index = 0; index < 100; index++) await server.invite(`victim+${index}@example.com`)
    const responses: HttpResponse[] = []
    // Ten at once. A request that waits for a connection to PostgreSQL for five seconds gets 503, and each of these waits for all before it.
    for (let begin = 0; begin < 100; begin += 10) {
      const some = Array.from({ length: 10 }, (_, index) => begin + index)
      responses.push(...(await Promise.all(some.map((n) => ask(`victim+${n}@example.com`, `192.0.2.${n}`)))))
    }
    expect(new Set(responses.map(({ status, body }) => `${status} ${body.message}`)).size).toBe(1)
    await ask('victim@example.com', '198.51.100.1')
    expect(await mails()).toBe(5)
  })

  test('from one network are refused beyond its limit, for known and unknown addresses alike', async () => {
    await server.invite('late@example.com')
    const responses = await Promise.all(
      Array.from({ length: 25 }, (_, index) => ask(`somebody${index}@example.com`, `2001:db8::${index}`)),
    )
    expect(responses.map(({ status }) => status).sort()).toEqual([...Array(20).fill(200), ...Array(5).fill(429)])
    const response = await ask('late@example.com', '2001:db8::ffff')
    expect(response).toMatchObject({ status: 429, headers: { 'retry-after': expect.any(String) } })
    expect(await mails()).toBe(0)
    expect(await ask('late@example.com', '2001:db8:0:1::1')).toMatchObject({ status: 200 })
    expect(await mails()).toBe(1)
  })

  test('send at most as many as the server may; requests for unknown addresses do not count', async () => {
    for (let index = 0; index < 14; index++) await server.invite(`member${index}@example.com`)
    await Promise.all(Array.from({ length: 19 }, (_, index) => ask(`stranger${index}@example.com`, '192.0.2.1')))
    await Promise.all(Array.from({ length: 13 }, (_, index) => ask(`member${index}@example.com`, `192.0.2.${index}`)))
    expect(await mails()).toBe(12)
    for (const name of ['member13', 'stranger']) {
      expect(await ask(`${name}@example.com`, '198.51.100.1')).toMatchObject({ status: 429 })
    }
  })
})

describe('magic links with templates of the administrator', () => {
  const server = runningAuth({
    auth: {
      authMode: 'magic-link',
      appUrl,
      magicLinkExpirySeconds: 120,
      templates: {
        textVersion: (link, minutes) => `Hier: ${link} (${minutes})`,
        htmlVersion: (link, minutes) => `<a href='${link}'>${minutes}</a>`,
      },
    },
    email: { ...email, emailSubject: 'Willkommen' },
  })
  const { ask, tokenFor, follow } = visitor(server)

  test('the templates get link and minutes, and the link lasts as long', async () => {
    const { id } = await server.invite('ann@example.com')
    await ask('ann@example.com')
    expect(await server.mailTo('ann@example.com')).toEqual([
      {
        to: 'ann@example.com',
        userId: id,
        subject: 'Willkommen',
        text: expect.stringMatching(/^Hier: https:\/\/chat\.example\.com\/\?token=\S+&email=ann%40example\.com \(2\)$/),
        html: expect.stringMatching(/^<a href='https:\/\/chat\.example\.com\/\?token=\S+'>2<\/a>$/),
      },
    ])
    const token = await tokenFor('ann@example.com')
    server.pass(120_000)
    expect(await follow(token, 'ann@example.com')).toMatchObject({ status: 401 })
  })
})
