import { hashPassword, setPassword } from '@parley/accounts'
import { Person } from '@parley/test'
import { appUrl, createBrowser } from '@parley/test/browser'
import { afterAll, describe, expect, test } from 'vitest'
import { runningAuth } from '../auth.testing.ts'
import { customProvider, json, startProvider } from '../oauth/provider-servers.testing.ts'
import { Owner } from '../second-factors/second-factors.testing.ts'

const provider = await startProvider()
afterAll(() => provider.close())

const open = { authMode: 'password', isInviteRequired: false, appUrl } as const

describe('a registration with somebody else’s address', () => {
  const server = runningAuth({
    auth: open,
    email: { host: 'mail.example.com' },
    oauth: { custom: [customProvider('one', provider.url)] },
    chat: { initialUser: { password: 'first password' } },
  })
  const login = (email: string) => server.nobody.post('/auth/password-login', { email, password: 'of the intruder' })
  const comesIn = async (email: string) => {
    provider.answers['/profile'] = json({ email, name: 'the owner' })
    const { access_token } = await createBrowser(server.nobody.baseUrl, null).arrive(`${appUrl}/auth/oauth/one`)
    return new Person(server.nobody.baseUrl, { id: '', userName: '' }, access_token!)
  }

  test('when the owner signs in through a provider, the account is theirs and the other person is signed out', async () => {
    const email = 'owner@example.com'
    const { body } = await server.nobody.post('/auth/register', { email, password: 'of the intruder' })
    const intruder = new Person(server.nobody.baseUrl, { id: '', userName: '' }, body.accessToken)
    expect(await intruder.get('/auth/me')).toMatchObject({ status: 200 })

    const owner = await comesIn(email)
    const me = await owner.get('/auth/me')
    expect(me).toMatchObject({ status: 200, body: { user: { email } } })
    expect(await intruder.get('/auth/me')).toMatchObject({ status: 401 })
    expect(await server.nobody.post('/auth/refresh', { refreshToken: body.refreshToken })).toMatchObject({
      status: 401,
    })
    expect(await login(email)).toMatchObject({ status: 401 })
    const entries = await server.deps.db
      .selectFrom('auditLog')
      .selectAll()
      .where('action', '=', 'user.password.reset')
      .execute()
    expect(entries).toMatchObject([{ targetId: me.body.user.id, metadata: { reason: 'address proven' } }])

    await comesIn(email)
    expect(await owner.get('/auth/me')).toMatchObject({ status: 200 })
  })

  async function intruderOf(email: string) {
    const { body } = await server.nobody.post('/auth/register', { email, password: 'of the intruder' })
    const { id } = await server.deps.db
      .selectFrom('users')
      .select('id')
      .where('email', '=', email)
      .executeTakeFirstOrThrow()
    const intruder = new Owner(server, { id, email })
    return { intruder, session: intruder.person(body) }
  }

  async function reset(email: string) {
    await server.nobody.post('/auth/request-password-reset', { email })
    const { text } = (await server.mailTo(email)).findLast((mail) => mail.text.includes('/reset?'))!
    const token = new URL(/http\S+/.exec(text)![0]).searchParams.get('token')!
    return server.nobody.post('/auth/setup-password', { email, token, password: 'of the true owner' })
  }

  const arrivals = [
    ['signs in through a provider', async (email: string) => expect((await comesIn(email)).token).toBeDefined()],
    [
      'resets the password by mail',
      async (email: string) => expect(await reset(email)).toMatchObject({ body: { accessToken: expect.any(String) } }),
    ],
  ] as const

  describe.each(arrivals)('when the owner %s', (how, arrive) => {
    const emailOf = (name: string) => `${name}-${how.split(' ')[0]}@example.com`

    test('a password that the other person has changed does not work any more', async () => {
      const email = emailOf('changed')
      const { session } = await intruderOf(email)
      const change = { currentPassword: 'of the intruder', newPassword: 'another of the intruder' }
      expect(await session.put('/auth/password', change)).toMatchObject({ status: 200 })
      await arrive(email)
      expect(await session.get('/auth/me')).toMatchObject({ status: 401 })
      const body = { email, password: change.newPassword }
      expect(await server.nobody.post('/auth/password-login', body)).toMatchObject({ status: 401 })
    })

    test('the second factors of the other person are removed, and the owner is not asked for them', async () => {
      const email = emailOf('factors')
      const { intruder, session } = await intruderOf(email)
      const passkey = await intruder.setsUpPasskey(session)
      await intruder.setsUpTotp(session)
      await arrive(email)
      const credential = await intruder.assert(passkey)
      expect(await server.nobody.post('/auth/passkeys/sign-in', { credential })).toMatchObject({ status: 401 })
      const owner = await comesIn(email)
      expect((await owner.get('/auth/second-factors')).body).toMatchObject({
        totp: false,
        passkeys: 0,
        recoveryCodes: 0,
      })
      const removed = await server.deps.db
        .selectFrom('auditLog')
        .select('metadata')
        .where('targetId', '=', intruder.id)
        .where('action', '=', 'mfa.reset')
        .execute()
      expect(removed).toEqual([{ metadata: { totp: true, passkeys: 1, reason: 'address proven' } }])
    })

    test('the API tokens of the other person do not work any more', async () => {
      const email = emailOf('token')
      const { intruder, session } = await intruderOf(email)
      const { token } = (await session.post('/auth/tokens', { name: 'a program', scopes: ['write'] })).body
      const program = intruder.person({ accessToken: token })
      expect(await program.get('/auth/me')).toMatchObject({ status: 200 })
      await arrive(email)
      expect(await program.get('/auth/me')).toMatchObject({ status: 401 })
    })
  })

  test('a reset by mail proves the address only once: later resets keep second factors and API tokens', async () => {
    const { intruder: owner, session } = await intruderOf('proven@example.com')
    await reset(owner.email)
    const { body } = await server.nobody.post('/auth/password-login', {
      email: owner.email,
      password: 'of the true owner',
    })
    const proven = owner.person(body)
    const { token } = (await proven.post('/auth/tokens', { name: 'a program', scopes: ['read'] })).body
    await owner.setsUpTotp(proven)
    expect(await reset(owner.email)).toMatchObject({ status: 200, body: { mfaRequired: true } })
    expect(await owner.person({ accessToken: token }).get('/auth/me')).toMatchObject({ status: 200 })
    expect(await session.get('/auth/me')).toMatchObject({ status: 401 })
  })

  test('a password that an admin sets does not prove the address', async () => {
    const { intruder, session } = await intruderOf('by-admin@example.com')
    const passkey = await intruder.setsUpPasskey(session)
    const passwordHash = await hashPassword('of the intruder', { N: 2 ** 10, r: 8, p: 1 })
    const change = { userId: intruder.id, passwordHash, actorId: 'an admin', ip: null, now: server.deps.clock() }
    await server.deps.db.transaction().execute((trx) => setPassword(trx, change))
    await comesIn(intruder.email)
    expect(await login(intruder.email)).toMatchObject({ status: 401 })
    const credential = await intruder.assert(passkey)
    expect(await server.nobody.post('/auth/passkeys/sign-in', { credential })).toMatchObject({ status: 401 })
  })

  test('a password set by an invitation stays when its owner signs in through a provider', async () => {
    await server.invite('given@example.com', 'of the intruder')
    await comesIn('given@example.com')
    expect(await login('given@example.com')).toMatchObject({ status: 200 })
  })
})
