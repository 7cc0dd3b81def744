import { openMailbox, Person } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { afterAll, describe, expect, test } from 'vitest'
import { newUser, patch, scimClient } from '../scim/scim.testing.ts'

// Opened before the test environment, which gets its address.
const mailbox = await openMailbox()
afterAll(() => mailbox.close())

const environment = testEnvironment({
  auth: { authMode: 'password', isInviteRequired: true, appUrl: 'https://chat.example.com' },
  email: { host: '127.0.0.1', port: mailbox.port },
})
const { scim } = scimClient(environment)
const setUp = (email: string, token: string | null, password = 'their own choice') =>
  environment.people.nobody.post('/auth/setup-password', { email, token, password })
const login = (email: string, password: string) =>
  environment.people.nobody.post('/auth/password-login', { email, password })

describe('POST /users/add in password mode with e-mail', () => {
  test('without a password sends an invitation, with which the person chooses one and signs in', async () => {
    const { ada, cat } = environment.people
    const { status, body } = await ada.post('/users/add', { email: 'New.One@Example.com' })
    expect(status).toBe(200)
    await environment.events.to(cat).toHave('NEW_USER', { id: body.userId, email: 'new.one@example.com' })

    const { link, source } = await mailbox.nextTo('new.one@example.com')
    expect(link.href).toMatch(
      /^https:\/\/chat\.example\.com\/\?token=invite\.[\w.-]+&email=new\.one%40example\.com&invite=true$/,
    )
    expect(source).toContain('Subject: You are invited to Parley')
    expect(source).toMatch(/Message-ID: <[0-9a-f-]{36}@chat\.example\.com>/i)
    expect(source).toContain(`${ada.userName} has added you to Parley`)
    expect(source).toMatch(/text\/plain[\s\S]*text\/html/)

    expect(await login('new.one@example.com', 'their own choice')).toMatchObject({ status: 401 })
    const response = await setUp('new.one@example.com', link.searchParams.get('token'))
    expect(response).toMatchObject({ status: 200, body: { tokenType: 'Bearer', exp: 900 } })
    const person = new Person(environment.baseUrl, { id: body.userId, userName: 'new.one' }, response.body.accessToken)
    expect(await person.get('/auth/me')).toMatchObject({ status: 200, body: { user: { id: body.userId } } })
    expect(await setUp('new.one@example.com', link.searchParams.get('token'))).toMatchObject({ status: 400 })
  })

  test('when a directory changes the address, an invitation to the old one does not work any more', async () => {
    const { ada } = environment.people
    const [before, after] = ['bob@wrong.example.com', 'bob@right.example.com']
    const { id } = (await scim('POST', '/Users', newUser(before))).body
    const invite = async (email: string) => {
      expect(await ada.post(`/users/${id}/invite`)).toMatchObject({ status: 200 })
      return (await mailbox.nextTo(email)).link.searchParams.get('token')
    }
    const rename = async (userName: string) =>
      expect(await scim('PATCH', `/Users/${id}`, patch({ op: 'replace', value: { userName } }))).toMatchObject({
        status: 200,
      })

    const token = await invite(before)
    await rename(after)
    expect(await setUp(before, token)).toMatchObject({ status: 400 })
    await rename(before)
    expect(await setUp(before, token)).toMatchObject({ status: 400 })
    await rename(after)
    expect(await setUp(after, await invite(after))).toMatchObject({ status: 200 })
  })

  test('an invitation is sent again, and the earlier one does not work any more', async () => {
    const { ada, cat, nobody } = environment.people
    const email = 'twice@example.com'
    const { userId } = (await ada.post('/users/add', { email })).body
    const first = await mailbox.nextTo(email)
    const again = (by: Person, id = userId) => by.post(`/users/${id}/invite`)
    expect(await again(ada)).toMatchObject({ status: 200, body: { success: true } })
    const second = await mailbox.nextTo(email)
    expect(await setUp(email, first.link.searchParams.get('token'))).toMatchObject({ status: 400 })
    expect(await setUp(email, second.link.searchParams.get('token'))).toMatchObject({ status: 200 })

    expect(await again(ada)).toMatchObject({ status: 400 })
    expect(await again(ada, 'nonsense')).toMatchObject({ status: 404 })
    expect(await again(ada, '0190a000-0000-7000-8000-000000000001')).toMatchObject({ status: 404 })
    expect(await again(cat)).toMatchObject({ status: 403 })
    expect(await again(nobody)).toMatchObject({ status: 401 })
  })

  test('an admin invites somebody although strangers have asked for five mails to that address', async () => {
    const { ada, nobody } = environment.people
    const email = 'wanted@example.com'
    for (let index = 0; index < 6; index++) await nobody.post('/auth/request-password-reset', { email })
    expect(await ada.post('/users/add', { email })).toMatchObject({ status: 200 })
    expect((await mailbox.nextTo(email)).source).toContain('Subject: You are invited to Parley')
  })

  test('with a password sets it at once and sends nothing', async () => {
    const { ada } = environment.people
    const added = { email: 'given@example.com', password: 'given by ada' }
    expect(await ada.post('/users/add', added)).toMatchObject({ status: 200 })
    expect(await login('given@example.com', 'given by ada')).toMatchObject({ status: 200 })

    await ada.post('/users/add', { email: 'marker@example.com' })
    await mailbox.nextTo('marker@example.com')
    expect(mailbox.letters.filter(({ to }) => to === 'given@example.com')).toEqual([])
  })

  test('a refused request sends no mail', async () => {
    const { ada, cat } = environment.people
    expect(await ada.post('/users/add', { email: 'cat@example.com' })).toMatchObject({ status: 400 })
    expect(await ada.post('/users/add', { email: 'short@example.com', password: '1234567' })).toMatchObject({
      status: 400,
    })
    expect(await cat.post('/users/add', { email: 'by-cat@example.com' })).toMatchObject({ status: 403 })

    await ada.post('/users/add', { email: 'marker2@example.com' })
    await mailbox.nextTo('marker2@example.com')
    const addresses = new Set(mailbox.letters.map(({ to }) => to))
    for (const name of ['cat', 'short', 'by-cat']) expect(addresses).not.toContain(`${name}@example.com`)
  })

  test('an address that was sent five mails in 15 minutes is not sent a sixth, and not added', async () => {
    const { ada } = environment.people
    for (let round = 0; round < 5; round++) {
      const { body } = await ada.post('/users/add', { email: 'often@example.com' })
      await ada.delete(`/users/${body.userId}`)
    }
    const response = await ada.post('/users/add', { email: 'often@example.com' })
    expect(response).toMatchObject({ status: 429, body: { code: 'rate_limited' } })
    expect(Number(response.headers['retry-after'])).toBeGreaterThan(0)
    const emails = (await ada.get('/users')).body.users.map(({ email }: { email: string }) => email)
    expect(emails).not.toContain('often@example.com')
  })

  test('markup in names is shown, not obeyed', async () => {
    const { ada } = environment.people
    await ada.put('/server/settings', { name: 'R&D <b>' })
    await ada.post('/users/add', { email: 'markup@example.com' })
    const { source } = await mailbox.nextTo('markup@example.com')
    expect(source).toContain('added you to R&amp;D &lt;b&gt;')
    expect(source.split('text/html')[1]).not.toContain('<b>')
  })
})

describe('POST /users/:id/reset-password', () => {
  const reset = (by: Person, id: string, password: unknown = 'given by ada') =>
    by.post(`/users/${id}/reset-password`, { password })

  test('sets a password, ends sessions, streams and links of the person, and is written down', async () => {
    const { ada, nobody } = environment.people
    const added = { email: 'zoe@example.com', password: 'first password' }
    const { userId: id } = (await ada.post('/users/add', added)).body
    const { accessToken } = (await login('zoe@example.com', 'first password')).body
    const zoe = new Person(environment.baseUrl, { id, userName: 'zoe' }, accessToken)
    const stream = await zoe.opensStream()
    await nobody.post('/auth/request-password-reset', { email: 'zoe@example.com' })
    const { link } = await mailbox.nextTo('zoe@example.com')

    expect(await reset(ada, id)).toMatchObject({ status: 200, body: { success: true } })

    await stream.ended
    expect(await zoe.get('/auth/me')).toMatchObject({ status: 401 })
    expect(await login('zoe@example.com', 'first password')).toMatchObject({ status: 401 })
    expect(await login('zoe@example.com', 'given by ada')).toMatchObject({ status: 200 })
    expect(await setUp('zoe@example.com', link.searchParams.get('token'))).toMatchObject({ status: 400 })
    expect(await environment.auditLog({ action: 'user.password.reset', targetId: id })).toMatchObject([
      { actorId: ada.id, targetType: 'user', ip: '127.0.0.1' },
    ])
  })

  test('of the caller’s own password keeps the current session', async () => {
    const { ada } = environment.people
    expect(await reset(ada, ada.id)).toMatchObject({ status: 200 })
    expect(await ada.get('/auth/me')).toMatchObject({ status: 200 })
    expect(await login('ada@example.com', 'given by ada')).toMatchObject({ status: 200 })
  })

  test.each([
    ['an unknown user', '0190a000-0000-7000-8000-000000000001', 'long enough'],
    ['an id of another form', 'nonsense', 'long enough'],
    ['a short password', 'cat', '1234567'],
    ['no password', 'cat', null],
    ['an endless password', 'cat', 'x'.repeat(1_001)],
  ])('%s is 400', async (_, id, password) => {
    const { ada, cat } = environment.people
    expect(await reset(ada, id === 'cat' ? cat.id : id, password)).toMatchObject({ status: 400 })
    expect(await cat.get('/auth/me')).toMatchObject({ status: 200 })
    expect(await environment.auditLog({ action: 'user.password.reset', targetId: cat.id })).toEqual([])
  })

  test('is for admins', async () => {
    const { ann, cat, nobody } = environment.people
    expect(await reset(ann, cat.id)).toMatchObject({ status: 403 })
    expect(await reset(nobody, cat.id)).toMatchObject({ status: 401 })
    expect(await cat.get('/auth/me')).toMatchObject({ status: 200 })
  })
})
