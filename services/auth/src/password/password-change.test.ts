import { describe, expect, test } from 'vitest'
import { runningAuth, tokensOf } from '../auth.testing.ts'
import { Owner, password } from '../second-factors/second-factors.testing.ts'

const server = runningAuth({
  auth: { authMode: 'password', isInviteRequired: false, maxActiveSessions: 100 },
  email: { host: 'mail.example.com' },
})
const newPassword = 'another long phrase'
const right = { currentPassword: password, newPassword }
const login = (email: string, secret: string, headers = {}) =>
  server.nobody.post('/auth/password-login', { email, password: secret }, headers)
const entriesOf = (targetId: string) =>
  server.deps.db
    .selectFrom('auditLog')
    .select(['action', 'metadata'])
    .where('targetId', '=', targetId)
    .where('action', '<>', 'user.create')
    .orderBy('id')
    .execute()

describe('PUT /auth/password', () => {
  test('changes the password, ends the other sessions, is audited and mailed', async () => {
    const owner = await Owner.create(server)
    const [session, other] = [await owner.signsIn(), await owner.signsIn()]
    expect(await session.put('/auth/password', right)).toMatchObject({ status: 200, body: { success: true } })
    expect([(await session.get('/auth/me')).status, (await other.get('/auth/me')).status]).toEqual([200, 401])
    expect(await owner.login()).toMatchObject({ status: 401 })
    expect(await login(owner.email, newPassword)).toMatchObject({ status: 200, body: tokensOf(900) })
    expect((await entriesOf(owner.id))[0]).toMatchObject({ action: 'password.update' })
    expect((await server.mailTo(owner.email)).map(({ subject }) => subject)).toEqual([
      'Your password for Parley was changed',
    ])
  })

  test('refuses a wrong current password, and counts it as a guess', async () => {
    const owner = await Owner.create(server)
    const session = await owner.signsIn()
    const wrong = { ...right, currentPassword: 'wrong horse' }
    const statuses = []
    for (let guess = 0; guess < 11; guess++) statuses.push((await session.put('/auth/password', wrong)).status)
    expect(statuses).toEqual([...Array(10).fill(403), 429])
    expect(await session.put('/auth/password', right)).toMatchObject({ status: 429 })
    expect(await owner.login()).toMatchObject({ status: 429 })
    const reason = 'wrong current password'
    const failures = (await entriesOf(owner.id)).filter(({ action }) => action === 'login.failure')
    expect(failures).toEqual(Array(10).fill({ action: 'login.failure', metadata: { method: 'password', reason } }))
  })

  test('needs the second factor of somebody who has one', async () => {
    const owner = await Owner.create(server)
    const session = await owner.signsIn()
    await owner.setsUpTotp(session)
    server.pass(60_000)
    expect(await session.put('/auth/password', right)).toMatchObject({ status: 403, body: { code: 'mfa_required' } })
    expect(await session.put('/auth/password', { ...right, code: '00000x' })).toMatchObject({ status: 403 })
    expect((await owner.login()).body).toMatchObject({ mfaRequired: true })
    const authenticator = await owner.setsUpPasskey(session)
    const credential = await owner.assert(authenticator)
    expect(await session.put('/auth/password', { ...right, credential })).toMatchObject({ status: 200 })
    const back = { currentPassword: newPassword, newPassword: password, code: owner.code() }
    expect(await session.put('/auth/password', back)).toMatchObject({ status: 200 })
  })

  test('makes all devices unknown, except the one that makes the change', async () => {
    const owner = await Owner.create(server)
    const deviceOf = (headers: Record<string, unknown>) =>
      [headers['set-cookie']]
        .flat()
        .map(String)
        .find((line) => line.startsWith('parley_device'))!
        .split(';')[0]!
    const [here, there] = [await owner.login(), await owner.login()]
    const headers = { cookie: deviceOf(here.headers) }
    const changed = await owner.person(here.body).put('/auth/password', right, headers)
    expect(changed.status).toBe(200)
    for (let guess = 0; guess < 10; guess++) await login(owner.email, 'wrong horse')
    expect(await login(owner.email, newPassword, { cookie: deviceOf(there.headers) })).toMatchObject({ status: 429 })
    expect(await login(owner.email, newPassword, { cookie: deviceOf(changed.headers) })).toMatchObject({ status: 200 })
  })

  test.each([
    ['a common one', { newPassword: 'Password1' }, 'weak_password'],
    ['the same', { newPassword: password }, 'invalid_request'],
    ['a short one', { newPassword: 'short' }, 'invalid_request'],
    ['none', { newPassword: undefined }, 'invalid_request'],
    ['no current one', { currentPassword: undefined }, 'invalid_request'],
  ])('%s is 400', async (_, body, code) => {
    const owner = await Owner.create(server)
    const session = await owner.signsIn()
    expect(await session.put('/auth/password', { ...right, ...body })).toMatchObject({ status: 400, body: { code } })
  })
})

test('registration, and the link of a reset, refuse common passwords and the name or address', async () => {
  const register = (email: string, chosen: string) => server.nobody.post('/auth/register', { email, password: chosen })
  const refused = { status: 400, body: { code: 'weak_password' } }
  expect(await register('newcomer@example.com', 'iloveyou')).toMatchObject(refused)
  expect(await register('newcomer@example.com', 'newcomer')).toMatchObject(refused)
  expect(await register('newcomer@example.com', 'NewComer@example.com')).toMatchObject(refused)

  const owner = await Owner.create(server, 'long.name@example.com')
  await server.nobody.post('/auth/request-password-reset', { email: owner.email })
  const token = new URL(/https?:\S+/.exec((await server.mailTo(owner.email))[0]!.text)![0]).searchParams.get('token')
  const setUp = (chosen: string) =>
    server.nobody.post('/auth/setup-password', { email: owner.email, token, password: chosen })
  for (const chosen of ['password1', 'long.name', owner.email]) expect(await setUp(chosen)).toMatchObject(refused)
  // A refused request does not consume the link.
  expect(await setUp('a phrase of mine')).toMatchObject({ status: 200 })
})
