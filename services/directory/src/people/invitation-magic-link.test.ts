import { openMailbox, Person } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { afterAll, expect, test } from 'vitest'

// Opened before the test environment, which gets its address.
const mailbox = await openMailbox()
afterAll(() => mailbox.close())

const environment = testEnvironment({
  auth: { authMode: 'magic-link', isInviteRequired: true, appUrl: 'https://chat.example.com' },
  email: { host: '127.0.0.1', port: mailbox.port },
})
const verify = (email: string, link: URL) =>
  environment.people.nobody.post(
    '/auth/verify',
    { email },
    { authorization: `Bearer ${link.searchParams.get('token')}` },
  )

test('in magic-link mode an invitation is sent again, also to a person with a password', async () => {
  const { ada } = environment.people
  const email = 'again@example.com'
  const { userId } = (await ada.post('/users/add', { email, password: 'of no use here' })).body
  const first = await mailbox.nextTo(email)
  expect(await ada.post(`/users/${userId}/invite`)).toMatchObject({ status: 200, body: { success: true } })
  const second = await mailbox.nextTo(email)
  expect(await verify(email, first.link)).toMatchObject({ status: 401 })
  expect(await verify(email, second.link)).toMatchObject({ status: 200 })
})

test('in magic-link mode the link of a removed person does not sign in', async () => {
  const { ada } = environment.people
  const email = 'removed@example.com'
  const { userId } = (await ada.post('/users/add', { email })).body
  const { link } = await mailbox.nextTo(email)
  await ada.delete(`/users/${userId}`)
  expect(await verify(email, link)).toMatchObject({ status: 401 })
})

// The last test, because it moves the clock and all other tokens expire.
test('in magic-link mode an invitation is mailed, and its link signs in for seven days, once', async () => {
  const { ada } = environment.people
  const { status, body } = await ada.post('/users/add', { email: 'New.One@Example.com' })
  expect(status).toBe(200)

  const { link, source } = await mailbox.nextTo('new.one@example.com')
  expect(link.href).toMatch(
    /^https:\/\/chat\.example\.com\/\?token=invite\.[\w.-]+&email=new\.one%40example\.com&invite=true$/,
  )
  expect(source).toContain('Subject: You are invited to Parley')
  expect(source).toContain(`${ada.userName} has added you to Parley`)
  expect(source).not.toMatch(/password/i)

  environment.pass(6 * 86_400_000)
  const response = await verify('new.one@example.com', link)
  expect(response).toMatchObject({ status: 200, body: { tokenType: 'Bearer' } })
  const person = new Person(environment.baseUrl, { id: body.userId, userName: 'new.one' }, response.body.accessToken)
  expect(await person.get('/auth/me')).toMatchObject({ body: { user: { id: body.userId } } })
  expect(await verify('new.one@example.com', link)).toMatchObject({ status: 401 })
})
