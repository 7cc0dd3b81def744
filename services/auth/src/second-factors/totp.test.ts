import { describe, expect, test } from 'vitest'
import { runningAuth, tokensOf } from '../auth.testing.ts'
import { Owner, password } from './second-factors.testing.ts'

const server = runningAuth({
  auth: { authMode: 'password', maxActiveSessions: 100 },
  email: { host: 'mail.example.com' },
})
const stepMs = 30_000

async function ownerWithApp() {
  const owner = await Owner.create(server)
  const session = await owner.signsIn()
  await owner.setsUpTotp(session)
  // The code that confirmed the app counts as used.
  server.pass(2 * stepMs)
  return { owner, session }
}
const auditOf = (userId: string) =>
  server.deps.db
    .selectFrom('auditLog')
    .select(['action', 'metadata'])
    .where('action', 'like', 'mfa.%')
    .where('targetId', '=', userId)
    .orderBy('id')
    .execute()
const subjectsTo = async (email: string) => (await server.mailTo(email)).map(({ subject }) => subject)

describe('an authenticator app', () => {
  test('is set up with a code, and ends the other sessions', async () => {
    const owner = await Owner.create(server)
    const [session, other] = [await owner.signsIn(), await owner.signsIn()]
    const { status, body } = await session.post('/auth/totp')
    expect(status).toBe(200)
    const url = new URL(body.otpauthUrl)
    expect([url.protocol, url.host, url.pathname]).toEqual([
      'otpauth:',
      'totp',
      `/Parley:${encodeURIComponent(owner.email)}`,
    ])
    expect(Object.fromEntries(url.searchParams)).toMatchObject({
      secret: body.secret,
      issuer: 'Parley',
      digits: '6',
      period: '30',
    })

    owner.secret = body.secret
    expect(await session.post('/auth/totp/confirm', { code: '000000' })).toMatchObject({ status: 400 })
    expect((await owner.login()).body).toHaveProperty('accessToken')
    const confirmed = await session.post('/auth/totp/confirm', { code: owner.code() })
    expect(confirmed).toMatchObject({
      status: 200,
      body: { recoveryCodes: Array(10).fill(expect.stringMatching(/^(\w{4}-){3}\w{4}$/)) },
    })
    expect(new Set(confirmed.body.recoveryCodes).size).toBe(10)
    expect(await session.get('/auth/second-factors')).toMatchObject({
      body: { required: false, totp: true, passkeys: 0, recoveryCodes: 10 },
    })
    expect([(await session.get('/auth/me')).status, (await other.get('/auth/me')).status]).toEqual([200, 401])

    expect(await session.post('/auth/totp')).toMatchObject({ status: 409, body: { code: 'already_set_up' } })
    expect(await session.post('/auth/totp/confirm', { code: owner.code(1) })).toMatchObject({ status: 404 })
    expect(await auditOf(owner.id)).toMatchObject([{ action: 'mfa.totp.create' }])
    expect(await subjectsTo(owner.email)).toEqual(['Your second factor for Parley'])
  })

  test('is required after the password, in the body and with a cookie', async () => {
    const { owner } = await ownerWithApp()
    const response = await owner.login({ 'x-parley-session': 'cookie' })
    expect([response.status, response.body]).toEqual([
      200,
      { mfaRequired: true, mfaToken: expect.any(String), methods: ['totp', 'recovery'] },
    ])
    expect(response.headers['set-cookie']).toBeUndefined()

    const asCookie = await owner.finish(
      response.body.mfaToken,
      { code: owner.code() },
      { 'x-parley-session': 'cookie' },
    )
    expect(asCookie.body).toEqual({ accessToken: expect.any(String), exp: 900, tokenType: 'Bearer' })
    expect(String(asCookie.headers['set-cookie'])).toContain('parley_session=')

    server.pass(stepMs)
    const inBody = await owner.finish(await owner.begins(), {
      code: `${owner.code().slice(0, 3)} ${owner.code().slice(3)}`,
    })
    expect(inBody).toMatchObject({ status: 200, body: tokensOf(900) })
    expect(await owner.person(inBody.body).get('/auth/me')).toMatchObject({ status: 200 })
    const [entry] = await server.deps.db
      .selectFrom('auditLog')
      .select('metadata')
      .where('action', '=', 'login.success')
      .where('actorId', '=', owner.id)
      .orderBy('id', 'desc')
      .execute()
    expect(entry).toMatchObject({ metadata: { method: 'password', secondFactor: 'totp' } })
  })

  test('may be one step early or late, and no more', async () => {
    const { owner } = await ownerWithApp()
    const statuses = []
    for (const steps of [-2, 2, -1, 1])
      statuses.push((await owner.finish(await owner.begins(), { code: owner.code(steps) })).status)
    expect(statuses).toEqual([401, 401, 200, 200])
  })

  test('accepts only six digits, and counts everything else as a wrong code', async () => {
    const { owner } = await ownerWithApp()
    const mfaToken = await owner.begins()
    const statuses = []
    for (const code of ['１２３４５６', '١٢٣٤٥٦', '12345é', '12345', '1234567'])
      statuses.push((await owner.finish(mfaToken, { code })).status)
    expect(statuses).toEqual([401, 401, 401, 401, 401])
    expect(await owner.finish(mfaToken, { code: owner.code() })).toMatchObject({ body: { code: 'mfa_attempt_ended' } })
  })

  test('makes codes that work once, also when eight requests use one at once', async () => {
    const { owner } = await ownerWithApp()
    const attempts = await Promise.all(Array.from({ length: 8 }, () => owner.begins()))
    const code = owner.code()
    const responses = await Promise.all(attempts.map((mfaToken) => owner.finish(mfaToken, { code })))
    expect(responses.map(({ status }) => status).sort()).toEqual([200, ...Array(7).fill(401)])
    expect(await owner.finish(await owner.begins(), { code: owner.code(-1) })).toMatchObject({ status: 401 })
  })

  test('is removed with a second factor alone, and the password is enough again', async () => {
    const { owner, session } = await ownerWithApp()
    expect(await session.delete('/auth/totp', {})).toMatchObject({ status: 403, body: { code: 'mfa_required' } })
    expect(await session.delete('/auth/totp', { code: '000000' })).toMatchObject({ status: 403 })
    expect(await session.delete('/auth/totp', { code: owner.code() })).toMatchObject({ status: 200 })
    expect(await session.delete('/auth/totp', { code: owner.code() })).toMatchObject({ status: 404 })
    expect((await owner.login()).body).toMatchObject(tokensOf(900))
    expect(await session.get('/auth/second-factors')).toMatchObject({ body: { totp: false, recoveryCodes: 0 } })
    expect((await auditOf(owner.id)).map(({ action }) => action)).toEqual(['mfa.totp.create', 'mfa.totp.delete'])
  })

  test('has its secret in the database in no readable form', async () => {
    const { owner } = await ownerWithApp()
    const tables = ['totp_secrets', 'recovery_codes', 'mfa_attempts', 'audit_log', 'jobs']
    await owner.begins()
    const rows = await Promise.all(tables.map((table) => server.deps.pool.query(`select * from ${table}`)))
    const text = JSON.stringify([rows.map(({ rows }) => rows), server.logs])
    for (const secret of [owner.secret, ...owner.recoveryCodes]) expect(text).not.toContain(secret)
  })

  test('of one person is refused for the account of another', async () => {
    const [one, other] = [await ownerWithApp(), await ownerWithApp()]
    await server.deps.pool.query(
      'update totp_secrets set sealed_secret = (select sealed_secret from totp_secrets where user_id = $1) where user_id = $2',
      [one.owner.id, other.owner.id],
    )
    expect(await other.owner.finish(await other.owner.begins(), { code: one.owner.code() })).toMatchObject({
      status: 401,
    })
  })
})

describe('a recovery code', () => {
  test('works once, however it is written, is audited and mailed', async () => {
    const { owner } = await ownerWithApp()
    const [first] = owner.recoveryCodes
    const written = ` ${first!.toUpperCase().replaceAll('-', ' ')}`
    expect(await owner.finish(await owner.begins(), { recoveryCode: written })).toMatchObject({ status: 200 })
    expect(await owner.finish(await owner.begins(), { recoveryCode: first })).toMatchObject({ status: 401 })
    expect((await auditOf(owner.id)).at(-1)).toEqual({ action: 'mfa.recovery.use', metadata: { left: 9 } })
    expect((await server.mailTo(owner.email)).at(-1)!.text).toContain('A recovery code was used')
  })

  test('removes an app that is lost', async () => {
    const { owner, session } = await ownerWithApp()
    const recoveryCode = owner.recoveryCodes[3]
    expect(await session.delete('/auth/totp', { recoveryCode })).toMatchObject({ status: 200 })
  })
})

describe('guessing codes', () => {
  test('ends the attempt with the fifth wrong one', async () => {
    const { owner } = await ownerWithApp()
    const mfaToken = await owner.begins()
    for (let guess = 0; guess < 5; guess++) {
      expect(await owner.finish(mfaToken, { code: '00000x' })).toMatchObject({
        status: 401,
        body: { code: 'unauthorized' },
      })
    }
    const ended = { status: 401, body: { code: 'mfa_attempt_ended' } }
    expect(await owner.finish(mfaToken, { code: owner.code() })).toMatchObject(ended)
    expect(await owner.finish(await owner.begins(), { code: owner.code() })).toMatchObject({ status: 200 })
  })

  test('ends for the account after ten wrong ones in all attempts, exactly, also for the right code', async () => {
    const { owner } = await ownerWithApp()
    const attempts = await Promise.all(Array.from({ length: 24 }, () => owner.begins()))
    const responses = await Promise.all(attempts.map((mfaToken) => owner.finish(mfaToken, { code: '00000x' })))
    expect(responses.map(({ status }) => status).sort()).toEqual([...Array(10).fill(401), ...Array(14).fill(429)])
    const refused = await owner.finish(await owner.begins(), { recoveryCode: owner.recoveryCodes[0] })
    expect(refused).toMatchObject({ status: 429, headers: { 'retry-after': expect.any(String) } })
    const lockouts = await server.deps.db
      .selectFrom('auditLog')
      .select('metadata')
      .where('action', '=', 'login.lockout')
      .where('targetId', '=', owner.id)
      .execute()
    expect(lockouts).toEqual([{ metadata: { scope: 'second factor' } }])

    server.pass(900_000)
    expect(await owner.finish(await owner.begins(), { code: owner.code() })).toMatchObject({ status: 200 })
  })
})

describe('the token of a sign-in that waits for its second factor', () => {
  test('cannot be used for anything else', async () => {
    const { owner } = await ownerWithApp()
    const mfaToken = await owner.begins()
    const bearer = owner.person({ accessToken: mfaToken })
    for (const path of ['/auth/me', '/auth/second-factors', '/auth/sessions']) {
      expect(await bearer.get(path)).toMatchObject({ status: 401 })
    }
    expect(await bearer.post('/auth/totp')).toMatchObject({ status: 401 })
    expect(await server.nobody.post('/auth/refresh', { refreshToken: mfaToken })).toMatchObject({ status: 401 })
    const { body } = await owner.finish(mfaToken, { code: owner.code() })
    const ended = { status: 401, body: { code: 'mfa_attempt_ended' } }
    expect(await owner.finish(mfaToken, { recoveryCode: owner.recoveryCodes[0] })).toMatchObject(ended)
    expect(await owner.finish(body.accessToken, { recoveryCode: owner.recoveryCodes[0] })).toMatchObject(ended)
  })

  test('ends after ten minutes, and with all sessions', async () => {
    const { owner, session } = await ownerWithApp()
    const [late, cut] = [await owner.begins(), await owner.begins()]
    await session.delete('/auth/sessions', {})
    const ended = { status: 401, body: { code: 'mfa_attempt_ended' } }
    expect(await owner.finish(cut, { code: owner.code() })).toMatchObject(ended)
    const another = await owner.begins()
    server.pass(600_000)
    for (const mfaToken of [late, another])
      expect(await owner.finish(mfaToken, { code: owner.code() })).toMatchObject(ended)
  })

  test('belongs to one account', async () => {
    const [one, other] = [await ownerWithApp(), await ownerWithApp()]
    const mfaToken = await one.owner.begins()
    for (const proof of [{ code: other.owner.code() }, { recoveryCode: other.owner.recoveryCodes[0] }]) {
      expect(await one.owner.finish(mfaToken, proof)).toMatchObject({ status: 401 })
    }
  })

  test.each([
    ['no proof', {}],
    ['two proofs', { code: '123456', recoveryCode: 'abcd' }],
    ['a number', { code: 123456 }],
    ['a broken credential', { credential: { id: 'x' } }],
  ])('with %s is 400', async (_, proof) => {
    const { owner } = await ownerWithApp()
    expect(await owner.finish(await owner.begins(), proof)).toMatchObject({ status: 400 })
  })
})

test('a reset by mail does not take the place of the second factor', async () => {
  const { owner, session } = await ownerWithApp()
  await server.nobody.post('/auth/request-password-reset', { email: owner.email })
  const link = (await server.mailTo(owner.email)).at(-1)!.text
  const token = new URL(/https?:\S+/.exec(link)![0]).searchParams.get('token')
  const response = await server.nobody.post('/auth/setup-password', { email: owner.email, token, password })
  expect(response).toMatchObject({ status: 200, body: { mfaRequired: true } })
  expect(response.body).not.toHaveProperty('accessToken')
  expect(await session.get('/auth/me')).toMatchObject({ status: 401 })
  expect(await owner.finish(response.body.mfaToken, { code: owner.code() })).toMatchObject({ status: 200 })
})
