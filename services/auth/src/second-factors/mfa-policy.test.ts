import { applyMfaPolicy } from '@parley/accounts'
import { Person } from '@parley/test'
import { describe, expect, test } from 'vitest'
import { runningAuth, tokensOf } from '../auth.testing.ts'
import { Owner } from './second-factors.testing.ts'

const refused = { status: 403, body: { code: 'mfa_enrolment_required' } }
const routes = ['/auth/me', '/auth/sessions', '/auth/second-factors', '/auth/passkeys'] as const
const statuses = (person: Person) => Promise.all(routes.map(async (path) => (await person.get(path)).status))

describe('with auth.mfa required', () => {
  const server = runningAuth({ auth: { authMode: 'password', maxActiveSessions: 100, mfa: 'required' } })

  test.each(['an authenticator app', 'a passkey'])(
    'a session can only set up %s, and then everything',
    async (what) => {
      const owner = await Owner.create(server)
      const session = await owner.signsIn()
      expect(await statuses(session)).toEqual([403, 403, 200, 200])
      expect(await session.get('/auth/me')).toMatchObject(refused)
      expect(await session.delete('/auth/sessions', {})).toMatchObject(refused)
      expect(await session.get('/auth/second-factors')).toMatchObject({ body: { required: true, totp: false } })
      const other = await owner.signsIn()

      if (what === 'a passkey') await owner.setsUpPasskey(session)
      else await owner.setsUpTotp(session)
      expect(await statuses(session)).toEqual([200, 200, 200, 200])
      // The other session has not used a second factor, so it was ended.
      expect(await statuses(other)).toEqual([401, 401, 401, 401])
      expect((await owner.login()).body).toMatchObject({ mfaRequired: true })
    },
  )

  test('a refresh changes nothing, and signing out is allowed', async () => {
    const owner = await Owner.create(server)
    const { refreshToken } = await owner.signsIn()
    const { status, body } = await server.nobody.post('/auth/refresh', { refreshToken })
    expect({ status, body }).toMatchObject({ status: 200, body: tokensOf(900) })
    const session = owner.person(body)
    expect(await session.get('/auth/me')).toMatchObject(refused)
    expect(await session.post('/auth/logout', {})).toMatchObject({ status: 200 })
    expect(await session.get('/auth/second-factors')).toMatchObject({ status: 401 })
  })

  test('a person who removes their last factor must set one up again', async () => {
    const owner = await Owner.create(server)
    const session = await owner.signsIn()
    await owner.setsUpTotp(session)
    const recoveryCode = owner.recoveryCodes[0]
    expect(await session.delete('/auth/totp', { recoveryCode })).toMatchObject({ status: 200 })
    expect(await session.get('/auth/me')).toMatchObject(refused)
    await owner.setsUpPasskey(session)
    expect(await session.get('/auth/me')).toMatchObject({ status: 200 })
  })

  test('earlier sessions follow a change of the configuration, except those that a provider started', async () => {
    const { db } = server.deps
    const apply = (isRequired: boolean) => db.transaction().execute((trx) => applyMfaPolicy(trx, isRequired))
    const [owner, guarded, federated] = await Promise.all([1, 2, 3].map(() => Owner.create(server)))
    const sessions = [await owner!.signsIn(), await guarded!.signsIn(), await federated!.signsIn()]
    await guarded!.setsUpTotp(sessions[1]!)
    await db.updateTable('sessions').set({ viaProvider: true }).where('userId', '=', federated!.id).execute()
    const mine = () => Promise.all(sessions.map(async (session) => (await session.get('/auth/me')).status))

    await apply(false)
    expect(await mine()).toEqual([200, 200, 200])
    expect(await apply(true)).toBeGreaterThan(0)
    expect(await mine()).toEqual([403, 200, 200])
    expect(await apply(true)).toBe(0)
  })
})

describe('with auth.mfa off', () => {
  const server = runningAuth({ auth: { authMode: 'password', mfa: 'off' } })

  test('nobody can set up a factor, and none is required', async () => {
    const owner = await Owner.create(server)
    const session = await owner.signsIn()
    for (const path of [
      '/auth/totp',
      '/auth/totp/confirm',
      '/auth/passkeys/registration',
      '/auth/passkeys',
      '/auth/mfa',
    ]) {
      expect([path, (await session.post(path, {})).status]).toEqual([path, 404])
    }
    await server.deps.db.updateTable('users').set({ secondFactorSince: 1 }).where('id', '=', owner.id).execute()
    expect((await owner.login()).body).toMatchObject(tokensOf(900))
  })
})

describe.each(['dev', 'magic-link'] as const)('in %s mode', (authMode) => {
  const server = runningAuth({
    auth: { authMode, isInviteRequired: false },
    email: { host: 'mail.example.com' },
  })
  async function signIn() {
    const email = 'ann@example.com'
    if (authMode === 'dev') return server.nobody.post('/auth/dev-login', { email })
    await server.nobody.post('/auth/login', { email })
    const link = (await server.mailTo(email)).at(-1)!.text
    const token = new URL(/https?:\S+/.exec(link)![0]).searchParams.get('token')
    return server.nobody.post('/auth/verify', { email }, { authorization: `Bearer ${token}` })
  }

  test('a person with a second factor must show it', async () => {
    const { accessToken, token } = (await signIn()).body
    const session = new Person(server.nobody.baseUrl, { id: '', userName: '' }, accessToken ?? token)
    const { id } = (await session.get('/auth/me')).body.user
    const owner = new Owner(server, { id, email: 'ann@example.com' })
    const authenticator = await owner.setsUpPasskey(session)

    const response = await signIn()
    expect(response).toMatchObject({ status: 200, body: { mfaRequired: true, methods: ['passkey'] } })
    expect(response.body).not.toHaveProperty('user')
    const { mfaToken } = response.body
    const credential = await owner.assert(authenticator, {}, mfaToken)
    const seconds = authMode === 'dev' ? 86_400 : 900
    expect(await owner.finish(mfaToken, { credential })).toMatchObject({ status: 200, body: tokensOf(seconds) })
  })
})
