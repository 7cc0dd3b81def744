import { openMailbox, Person } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { afterAll, expect, test } from 'vitest'

// Opened before the test environment, which gets its address.
const mailbox = await openMailbox()
afterAll(() => mailbox.close())

const environment = testEnvironment({
  auth: { authMode: 'magic-link', isInviteRequired: false, appUrl: 'https://chat.example.com' },
  email: { host: '127.0.0.1', port: mailbox.port, emailSubject: 'Hereinspaziert' },
})

test('a new person requests a link, finds it in the mail and signs in; the mail is not kept', async () => {
  const { nobody, cat } = environment.people
  const email = 'Nora@Example.com'
  expect(await nobody.post('/auth/login', { email })).toMatchObject({ status: 200 })

  const { link, source } = await mailbox.nextTo('nora@example.com')
  expect(source).toContain('Subject: Hereinspaziert')
  expect(source).toMatch(/text\/plain[\s\S]*text\/html/)
  await expect.poll(() => environment.deps.db.selectFrom('jobs').select('id').execute()).toEqual([])

  const authorization = `Bearer ${link.searchParams.get('token')}`
  const { status, body } = await nobody.post('/auth/verify', { email }, { authorization })
  expect(status).toBe(200)
  const nora = new Person(environment.baseUrl, { id: '', userName: 'nora' }, body.accessToken, body.refreshToken)
  const { user } = (await nora.get('/auth/me')).body
  await environment.events.to(cat).toHave('NEW_USER', { id: user.id, email: 'nora@example.com', isAdmin: false })
  expect(await nora.post('/auth/refresh', { refreshToken: nora.refreshToken })).toMatchObject({ status: 200 })
  expect(await nora.get('/channels')).toMatchObject({ status: 200 })
})

test('while Redis is unavailable links can be requested and used, and the mail waits', async () => {
  const { nobody, cat } = environment.people
  await environment.redis.kill('SIGKILL')
  expect(await nobody.post('/auth/login', { email: 'cat@example.com' })).toMatchObject({ status: 200 })
  await environment.redis.restart()

  const { link } = await mailbox.nextTo('cat@example.com')
  await environment.redis.kill('SIGKILL')
  const authorization = `Bearer ${link.searchParams.get('token')}`
  const { status, body } = await nobody.post('/auth/verify', { email: 'cat@example.com' }, { authorization })
  expect(status).toBe(200)
  const again = new Person(environment.baseUrl, cat, body.accessToken)
  expect(await again.get('/auth/me')).toMatchObject({ status: 200, body: { user: { id: cat.id } } })
  await environment.redis.restart()
})
