import { Authenticator } from '@parley/test/authenticator'
import { describe, expect, test } from 'vitest'
import { runningAuth, tokensOf } from '../auth.testing.ts'
import { Owner } from './second-factors.testing.ts'

const server = runningAuth({
  auth: { authMode: 'password', maxActiveSessions: 100, appUrl: 'https://chat.example.com/parley' },
  email: { host: 'mail.example.com' },
})
const origin = 'https://chat.example.com'
const signIn = (credential: unknown, headers = {}) =>
  server.nobody.post('/auth/passkeys/sign-in', { credential }, headers)

async function ownerWithPasskey() {
  const owner = await Owner.create(server)
  const session = await owner.signsIn()
  const authenticator = await owner.setsUpPasskey(session)
  return { owner, session, authenticator }
}
const auditOf = (userId: string) =>
  server.deps.db
    .selectFrom('auditLog')
    .select(['action', 'metadata'])
    .where('targetId', '=', userId)
    .where((eb) => eb.or([eb('action', 'like', 'mfa.%'), eb('action', '=', 'login.failure')]))
    .orderBy('id')
    .execute()

describe('a passkey', () => {
  test('is set up for this address, discoverable and with user verification; this ends the other sessions', async () => {
    const owner = await Owner.create(server)
    const [session, other] = [await owner.signsIn(), await owner.signsIn()]
    const { options } = (await session.post('/auth/passkeys/registration')).body
    expect(options).toMatchObject({
      rp: { id: 'chat.example.com', name: 'Parley' },
      user: { name: owner.email },
      attestation: 'none',
      excludeCredentials: [],
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    })
    const authenticator = new Authenticator()
    const credential = authenticator.register(options, origin)
    const response = await session.post('/auth/passkeys', { name: ' laptop ', credential })
    const passkey = { id: expect.any(String), name: 'laptop', createdAt: expect.any(Number), lastUsedAt: null }
    expect(response).toMatchObject({ status: 200, body: { passkey } })
    expect((await session.get('/auth/passkeys')).body).toEqual({ passkeys: [passkey] })
    expect([(await session.get('/auth/me')).status, (await other.get('/auth/me')).status]).toEqual([200, 401])
    expect((await session.post('/auth/passkeys/registration')).body.options.excludeCredentials).toMatchObject([
      { id: authenticator.id, transports: ['usb'] },
    ])
    expect(await auditOf(owner.id)).toMatchObject([{ action: 'mfa.passkey.create', metadata: { name: 'laptop' } }])
    expect((await server.mailTo(owner.email)).at(-1)!.text).toContain('A passkey was added')
  })

  test('signs in alone, in the body and with a cookie', async () => {
    const { owner, authenticator } = await ownerWithPasskey()
    const { options } = (await server.nobody.post('/auth/passkeys/authentication', {})).body
    expect(options).toMatchObject({ rpId: 'chat.example.com', userVerification: 'required' })
    expect(options.allowCredentials ?? []).toEqual([])
    const response = await signIn(authenticator.answer(options, origin))
    expect(response).toMatchObject({ status: 200, body: tokensOf(900) })
    expect(await owner.person(response.body).get('/auth/me')).toMatchObject({ body: { user: { id: owner.id } } })

    const asCookie = await signIn(await owner.assert(authenticator), { 'x-parley-session': 'cookie' })
    expect([asCookie.status, asCookie.body.refreshToken]).toEqual([200, undefined])
    expect(String(asCookie.headers['set-cookie'])).toContain('parley_session=')
  })

  test('is the second factor after a password, and asked for by name', async () => {
    const { owner, authenticator } = await ownerWithPasskey()
    const response = await owner.login()
    expect(response.body).toEqual({ mfaRequired: true, mfaToken: expect.any(String), methods: ['passkey'] })
    const { mfaToken } = response.body
    const { options } = (await server.nobody.post('/auth/passkeys/authentication', { mfaToken })).body
    expect(options.allowCredentials).toMatchObject([{ id: authenticator.id }])
    const credential = authenticator.answer(options, origin)
    expect(await owner.finish(mfaToken, { credential })).toMatchObject({ status: 200, body: tokensOf(900) })
    const unknown = { mfaToken: 'x'.repeat(43) }
    expect(await server.nobody.post('/auth/passkeys/authentication', unknown)).toMatchObject({ status: 401 })
  })

  test('of another person is not accepted as a second factor and cannot be removed', async () => {
    const [one, other] = [await ownerWithPasskey(), await ownerWithPasskey()]
    const mfaToken = await one.owner.begins()
    const credential = await other.owner.assert(other.authenticator)
    expect(await one.owner.finish(mfaToken, { credential })).toMatchObject({ status: 401 })
    const asked = await one.owner.assert(other.authenticator, {}, mfaToken)
    expect(await signIn(asked)).toMatchObject({ status: 401 })

    const [{ id }] = (await one.session.get('/auth/passkeys')).body.passkeys
    expect(await other.session.delete(`/auth/passkeys/${id}`)).toMatchObject({ status: 404 })
    expect(await other.session.delete('/auth/passkeys/nonsense')).toMatchObject({ status: 404 })
    expect(await one.session.delete(`/auth/passkeys/${id}`)).toMatchObject({ status: 200 })
    expect(await signIn(await one.owner.assert(one.authenticator))).toMatchObject({ status: 401 })
    expect((await one.owner.login()).body).toMatchObject(tokensOf(900))
    expect((await auditOf(one.owner.id)).at(-1)).toMatchObject({ action: 'mfa.passkey.delete' })
  })

  test('does not sign in somebody who was removed', async () => {
    const { owner, authenticator } = await ownerWithPasskey()
    await server.deps.db.updateTable('users').set({ removedAt: 1 }).where('id', '=', owner.id).execute()
    expect(await signIn(await owner.assert(authenticator))).toMatchObject({ status: 401 })
  })
})

describe('a signature', () => {
  test.each([
    ['for another origin', { origin: 'https://chat.example.com.evil.example' }],
    ['for http', { origin: 'http://chat.example.com' }],
    ['for another relying party', { rpId: 'example.com' }],
    [
      'for a challenge of somebody else',
      { challenge: Buffer.from('a challenge of another server').toString('base64url') },
    ],
    ['without user verification', { isUnverified: true }],
    ['of other data', { isForged: true }],
    ['under the name of another person', { userHandle: Buffer.from('somebody').toString('base64url') }],
  ])('%s is refused', async (_, flaws) => {
    const { owner, authenticator } = await ownerWithPasskey()
    expect(await signIn(await owner.assert(authenticator, flaws))).toMatchObject({ status: 401 })
    const mfaToken = await owner.begins()
    const credential = await owner.assert(authenticator, flaws, mfaToken)
    expect(await owner.finish(mfaToken, { credential })).toMatchObject({ status: 401 })
    expect(await auditOf(owner.id)).toMatchObject([{}, { action: 'login.failure' }, { action: 'login.failure' }])
    expect(await signIn(await owner.assert(authenticator))).toMatchObject({ status: 200 })
  })

  test('works once, also when eight requests send it at once', async () => {
    const { owner, authenticator } = await ownerWithPasskey()
    const credential = await owner.assert(authenticator)
    const responses = await Promise.all(Array.from({ length: 8 }, () => signIn(credential)))
    expect(responses.map(({ status }) => status).sort()).toEqual([200, ...Array(7).fill(401)])
  })

  test('is good for five minutes', async () => {
    const { owner, authenticator } = await ownerWithPasskey()
    const credential = await owner.assert(authenticator)
    server.pass(300_000)
    expect(await signIn(credential)).toMatchObject({ status: 401 })
  })

  test('with a counter that went back is refused and audited; one of an authenticator that does not count is accepted', async () => {
    const { owner, authenticator } = await ownerWithPasskey()
    expect(await signIn(await owner.assert(authenticator, { counter: 7 }))).toMatchObject({ status: 200 })
    for (const counter of [7, 6, 0]) {
      expect(await signIn(await owner.assert(authenticator, { counter }))).toMatchObject({ status: 401 })
    }
    const failures = (await auditOf(owner.id)).filter(({ action }) => action === 'login.failure')
    const reason = 'the counter of the passkey went back'
    expect(failures).toMatchObject([7, 6, 0].map((counter) => ({ metadata: { reason, counter, expectedAbove: 7 } })))
    expect(await signIn(await owner.assert(authenticator, { counter: 8 }))).toMatchObject({ status: 200 })

    const without = await ownerWithPasskey()
    for (let times = 0; times < 2; times++) {
      expect(await signIn(await without.owner.assert(without.authenticator, { counter: 0 }))).toMatchObject({
        status: 200,
      })
    }
  })
})

describe('a new passkey', () => {
  test.each([
    ['for another origin', { origin: 'https://evil.example' }],
    ['for another relying party', { rpId: 'evil.example' }],
    ['for another challenge', { challenge: Buffer.from('another challenge').toString('base64url') }],
    ['without user verification', { isUnverified: true }],
  ])('%s is refused', async (_, flaws) => {
    const owner = await Owner.create(server)
    const session = await owner.signsIn()
    const { options } = (await session.post('/auth/passkeys/registration')).body
    const credential = new Authenticator().register(options, origin, flaws)
    expect(await session.post('/auth/passkeys', { name: 'a key', credential })).toMatchObject({ status: 400 })
    expect((await owner.login()).body).toMatchObject(tokensOf(900))
  })

  test('is set up once, by the person and for the purpose of its challenge', async () => {
    const [one, other] = [await ownerWithPasskey(), await ownerWithPasskey()]
    const { options } = (await one.session.post('/auth/passkeys/registration')).body
    const stolen = new Authenticator().register(options, origin)
    expect(await other.session.post('/auth/passkeys', { name: 'a key', credential: stolen })).toMatchObject({
      status: 400,
    })

    const again = (await other.session.post('/auth/passkeys/registration')).body.options
    const credential = one.authenticator.register(again, origin)
    expect(await other.session.post('/auth/passkeys', { name: 'a key', credential })).toMatchObject({ status: 409 })
    expect(await other.session.post('/auth/passkeys', { name: 'a key', credential })).toMatchObject({ status: 400 })

    const asked = (await server.nobody.post('/auth/passkeys/authentication', {})).body.options
    const misused = new Authenticator().register({ ...again, challenge: asked.challenge }, origin)
    expect(await other.session.post('/auth/passkeys', { name: 'a key', credential: misused })).toMatchObject({
      status: 400,
    })
  })

  test.each([
    ['no name', { name: '' }],
    ['a blank name', { name: '  ' }],
    ['an endless name', { name: 'x'.repeat(81) }],
    ['no credential', { credential: undefined }],
    [
      'nonsense',
      {
        credential: {
          id: '',
          rawId: '',
          type: 'public-key',
          response: { clientDataJSON: 'AA', attestationObject: 'AA' },
        },
      },
    ],
  ])('with %s is 400', async (_, body) => {
    const owner = await Owner.create(server)
    const session = await owner.signsIn()
    const { options } = (await session.post('/auth/passkeys/registration')).body
    const good = { name: 'a key', credential: new Authenticator().register(options, origin) }
    expect(await session.post('/auth/passkeys', { ...good, ...body })).toMatchObject({ status: 400 })
  })
})

describe('in a session that is older than ten minutes', () => {
  const required = { status: 403, body: { code: 'mfa_required' } }
  async function ownerLater() {
    const known = await ownerWithPasskey()
    const [{ id }] = (await known.session.get('/auth/passkeys')).body.passkeys
    server.pass(600_000)
    return { ...known, path: `/auth/passkeys/${id}` }
  }

  test('a passkey is removed only with a second factor, such as the passkey itself', async () => {
    const { owner, session, authenticator, path } = await ownerLater()
    const stranger = await ownerWithPasskey()
    expect(await session.delete(path)).toMatchObject(required)
    expect(await session.delete(path, {})).toMatchObject(required)
    for (const proof of [
      { code: '123456' },
      { recoveryCode: 'abcd' },
      { credential: await stranger.owner.assert(stranger.authenticator) },
      { credential: await owner.assert(authenticator, { isForged: true }) },
    ]) {
      const response = await session.delete(path, proof)
      expect([response.status, response.body.code]).toEqual([403, 'forbidden'])
    }
    expect(await session.get('/auth/second-factors')).toMatchObject({ body: { passkeys: 1 } })
    const credential = await owner.assert(authenticator)
    expect(await session.delete(path, { credential, code: '123456' })).toMatchObject({ status: 400 })
    const again = await owner.assert(authenticator)
    expect(await session.delete(path, { credential: again })).toMatchObject({ status: 200 })
    expect(await session.get('/auth/second-factors')).toMatchObject({ body: { passkeys: 0 } })
  })

  test('a refresh is no proof, and a new sign-in is one', async () => {
    const { owner, session, authenticator, path } = await ownerLater()
    const { body } = await server.nobody.post('/auth/refresh', { refreshToken: session.refreshToken })
    expect(await owner.person(body).delete(path)).toMatchObject(required)
    const signedIn = await signIn(await owner.assert(authenticator))
    expect(await owner.person(signedIn.body).delete(path)).toMatchObject({ status: 200 })
  })

  test('a further factor is added only with the one that is there', async () => {
    const { owner, session, authenticator } = await ownerLater()
    expect(await session.post('/auth/passkeys/registration')).toMatchObject(required)
    expect(await session.post('/auth/totp')).toMatchObject(required)

    const credential = await owner.assert(authenticator)
    const { options } = (await session.post('/auth/passkeys/registration', { credential })).body
    const further = new Authenticator().register(options, origin)
    expect(await session.post('/auth/passkeys', { name: 'two', credential: further })).toMatchObject({ status: 200 })
    const begun = await session.post('/auth/totp', { credential: await owner.assert(authenticator) })
    owner.secret = begun.body.secret
    expect(await session.post('/auth/totp/confirm', { code: owner.code() })).toMatchObject({ status: 200 })
    server.pass(30_000)
    const withCode = await session.post('/auth/passkeys/registration', { code: owner.code() })
    expect(withCode).toMatchObject({ status: 200, body: { options: {} } })
  })

  test('a set-up that began before the first factor is not finished after it', async () => {
    const owner = await Owner.create(server)
    const session = await owner.signsIn()
    owner.secret = (await session.post('/auth/totp')).body.secret
    const { options } = (await session.post('/auth/passkeys/registration')).body
    server.pass(1_000)
    await owner.setsUpPasskey(session)
    expect(await session.post('/auth/totp/confirm', { code: owner.code() })).toMatchObject({ status: 404 })
    const credential = new Authenticator().register(options, origin)
    expect(await session.post('/auth/passkeys', { name: 'early', credential })).toMatchObject({ status: 400 })
    expect(await session.get('/auth/second-factors')).toMatchObject({ body: { totp: false, passkeys: 1 } })
  })

  test('wrong proofs count like those of a sign-in', async () => {
    const { session, path } = await ownerLater()
    for (let times = 0; times < 10; times++) await session.delete(path, { code: '123456' })
    expect(await session.delete(path, { code: '123456' })).toMatchObject({ status: 429 })
  })
})
