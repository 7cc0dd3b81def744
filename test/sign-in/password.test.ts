import { type Mailbox, openMailbox, Person } from '@parley/test'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Installation, launch } from '../src/launch.ts'

/** Password mode as an organisation runs it: mail by SMTP, and in the cluster two replicas of everything. */
describe.each(['solo', 'cluster'] as const)('password mode, %s', (topology) => {
  let mailbox: Mailbox
  let installation: Installation
  let nobody: Person

  beforeAll(async () => {
    mailbox = await openMailbox()
    installation = await launch(topology, {
      env: {
        PARLEY_AUTH_AUTH_MODE: 'password',
        PARLEY_EMAIL_HOST: '127.0.0.1',
        PARLEY_EMAIL_PORT: String(mailbox.port),
        PARLEY_LOG_LEVEL: 'debug',
        INITIAL_USER_PASSWORD: passwords.admin,
      },
    })
    nobody = Person.nobody(installation.baseUrl)
  })
  afterAll(async () => {
    await installation?.discard()
    await mailbox?.close()
  })

  const login = (email: string, password: string) => nobody.post('/auth/password-login', { email, password })
  async function signIn(email: string, password: string): Promise<Person> {
    const { status, body } = await login(email, password)
    expect(status).toBe(200)
    return new Person(installation.baseUrl, { id: '', userName: email }, body.accessToken, body.refreshToken)
  }

  test('the admin of the first start invites somebody, who chooses a password and talks', async () => {
    const admin = await signIn('admin@example.com', passwords.admin)
    expect(await admin.post('/users/add', { email: 'ann@example.com' })).toMatchObject({ status: 200 })

    const { link } = await mailbox.nextTo('ann@example.com')
    expect([link.origin, link.pathname]).toEqual([installation.baseUrl, '/'])
    const token = link.searchParams.get('token')
    const body = { email: link.searchParams.get('email'), token, password: passwords.ann }
    expect(await nobody.post('/auth/setup-password', body)).toMatchObject({ status: 200 })
    const ann = await signIn('ann@example.com', passwords.ann)
    await ann.says('hello', await ann.creates({ name: 'of ann' }))
  })

  test('somebody registers, forgets the password, resets it by mail, and their stream ends', async () => {
    const registered = await nobody.post('/auth/register', { email: 'bob@example.com', password: passwords.bob })
    expect(registered).toMatchObject({ status: 200 })
    const bob = new Person(installation.baseUrl, { id: '', userName: 'bob' }, registered.body.accessToken)
    const stream = await bob.opensStream()

    await nobody.post('/auth/request-password-reset', { email: 'BOB@example.com' })
    const { link } = await mailbox.nextTo('bob@example.com')
    expect(link.pathname).toBe('/reset')
    const body = { email: 'bob@example.com', password: passwords.bobAgain }
    const authorization = `Bearer ${link.searchParams.get('token')}`
    expect(await nobody.post('/auth/setup-password', body, { authorization })).toMatchObject({ status: 200 })

    await stream.ended
    expect(await bob.get('/auth/me')).toMatchObject({ status: 401 })
    expect(await login('bob@example.com', passwords.bob)).toMatchObject({ status: 401 })
    await signIn('bob@example.com', passwords.bobAgain)
  })

  test('ten wrong passwords are looked at, however many processes there are to look', async () => {
    const replies = await Promise.all(
      Array.from({ length: 14 }, (_, index) => login('guessed@example.com', `${passwords.guess} ${index}`)),
    )
    expect(replies.map(({ status }) => status).sort()).toEqual([...Array(10).fill(401), ...Array(4).fill(429)])
  })

  // Twenty passwords are twenty derivations, two at a time in a process.
  test('twenty who register with one address at once are one person', { timeout: 90_000 }, async () => {
    const replies = await Promise.all(
      Array.from({ length: 20 }, () =>
        nobody.post('/auth/register', { email: 'race@example.com', password: passwords.race }),
      ),
    )
    expect(replies.map(({ status }) => status).sort()).toEqual([200, ...Array(19).fill(400)])
  })

  test('of all that no process printed a password, a token or an address', async () => {
    expect(installation.output).toMatch(/"level":"debug"/)
    const secrets = [...Object.values(passwords), ...mailbox.letters.map(({ link }) => link.searchParams.get('token')!)]
    for (const secret of secrets) expect(installation.output).not.toContain(secret)
    for (const name of ['ann', 'bob', 'guessed', 'race']) {
      expect(installation.output).not.toMatch(new RegExp(`${name}(@|%40)example\\.com`))
    }
  })
})

const passwords = {
  admin: 'the password of the admin',
  ann: 'the password of ann',
  bob: 'the first password of bob',
  bobAgain: 'the second password of bob',
  guess: 'a password of nobody',
  race: 'a password for twenty',
}
