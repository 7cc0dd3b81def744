import { describe, expect, test } from 'vitest'
import { runningAuth } from '../auth.testing.ts'
import { Owner, password } from './second-factors.testing.ts'

const token = { name: 'a program', scopes: ['read'] }
const tenMinutes = 600_000
const passwordRequired = { status: 403, body: { code: 'password_required' } }

describe('in a session that is older than ten minutes, the person', () => {
  const server = runningAuth({
    auth: { authMode: 'password', maxActiveSessions: 100 },
    email: { host: 'mail.example.com' },
  })
  async function ownerLater() {
    const owner = await Owner.create(server)
    const session = await owner.signsIn()
    server.pass(tenMinutes)
    return { owner, session }
  }

  test.each([
    ['the first app', '/auth/totp', {}],
    ['the first passkey', '/auth/passkeys/registration', {}],
    ['an API token', '/auth/tokens', token],
  ])('shows the password for %s', async (_, path, body) => {
    const { session } = await ownerLater()
    expect(await session.post(path, body)).toMatchObject(passwordRequired)
    const wrong = await session.post(path, { ...body, currentPassword: 'wrong horse' })
    expect([wrong.status, wrong.body.code]).toEqual([403, 'forbidden'])
    expect(await session.post(path, { ...body, code: '123456' })).toMatchObject(passwordRequired)
    expect(await session.post(path, { ...body, currentPassword: password })).toMatchObject({ status: 200 })
  })

  test('shows the password for the token of a bot and of a directory, as an admin', async () => {
    const { owner, session } = await ownerLater()
    const { db } = server.deps
    await db.updateTable('users').set({ isAdmin: true }).where('id', '=', owner.id).execute()
    const bot = await server.invite('bot@example.com')
    await db.updateTable('users').set({ isBot: true }).where('id', '=', bot.id).execute()
    for (const path of [`/bots/${bot.id}/tokens`, '/admin/scim-clients']) {
      expect(await session.post(path, token)).toMatchObject(passwordRequired)
      expect(await session.post(path, { ...token, currentPassword: 'wrong horse' })).toMatchObject({ status: 403 })
      expect(await session.post(path, { ...token, currentPassword: password })).toMatchObject({ status: 200 })
      expect(await (await owner.signsIn()).post(path, token)).toMatchObject({ status: 200 })
    }
    const unknown = `/bots/${owner.id}/tokens`
    expect(await session.post(unknown, { ...token, currentPassword: password })).toMatchObject({ status: 404 })
  })

  test('signs in again instead', async () => {
    const { owner, session } = await ownerLater()
    const { body } = await server.nobody.post('/auth/refresh', { refreshToken: session.refreshToken })
    expect(await owner.person(body).post('/auth/tokens', token)).toMatchObject(passwordRequired)
    expect(await (await owner.signsIn()).post('/auth/tokens', token)).toMatchObject({ status: 200 })
  })

  test('is refused after ten wrong passwords', async () => {
    const { session } = await ownerLater()
    const guess = () => session.post('/auth/tokens', { ...token, currentPassword: 'wrong horse' })
    for (let times = 0; times < 10; times++) await guess()
    expect(await session.post('/auth/tokens', { ...token, currentPassword: password })).toMatchObject({ status: 429 })
  })

  test('shows a second factor for an API token if they have one, and not the password', async () => {
    const owner = await Owner.create(server)
    const session = await owner.signsIn()
    await owner.setsUpTotp(session)
    server.pass(tenMinutes)
    const required = { status: 403, body: { code: 'mfa_required' } }
    expect(await session.post('/auth/tokens', token)).toMatchObject(required)
    expect(await session.post('/auth/tokens', { ...token, currentPassword: password })).toMatchObject(required)
    expect(await session.post('/auth/tokens', { ...token, code: owner.code() })).toMatchObject({ status: 200 })
  })

  test('confirms nothing without a password and without a second factor', async () => {
    const { owner, session } = await ownerLater()
    await server.deps.db.updateTable('users').set({ passwordHash: null }).where('id', '=', owner.id).execute()
    expect(await session.post('/auth/tokens', token)).toMatchObject({ status: 200 })
    await owner.setsUpPasskey(session)
    expect(await session.post('/auth/tokens', token)).toMatchObject({ status: 403, body: { code: 'mfa_required' } })
  })
})

describe('without second factors on the server', () => {
  const server = runningAuth({
    auth: { authMode: 'password', mfa: 'off' },
    email: { host: 'mail.example.com' },
  })

  test('the password confirms, also of somebody who has a second factor', async () => {
    const owner = await Owner.create(server)
    const session = await owner.signsIn()
    await server.deps.db.updateTable('users').set({ secondFactorSince: 1 }).where('id', '=', owner.id).execute()
    server.pass(tenMinutes)
    expect(await session.post('/auth/tokens', token)).toMatchObject(passwordRequired)
    const confirmed = { ...token, currentPassword: password }
    expect(await session.post('/auth/tokens', confirmed)).toMatchObject({ status: 200 })
  })
})

describe('without passwords on the server', () => {
  const server = runningAuth({ auth: { authMode: 'magic-link' }, email: { host: 'mail.example.com' } })

  test('an old password is not asked for', async () => {
    const { id } = await server.invite('ann@example.com', password)
    await server.nobody.post('/auth/login', { email: 'ann@example.com' })
    const [mail] = await server.mailTo('ann@example.com')
    const link = new URL(/https?:\S+/.exec(mail!.text)![0]).searchParams.get('token')
    const headers = { authorization: `Bearer ${link}` }
    const { body } = await server.nobody.post('/auth/verify', { email: 'ann@example.com' }, headers)
    const session = new Owner(server, { id, email: 'ann@example.com' }).person(body)
    server.pass(tenMinutes)
    expect(await session.post('/auth/tokens', token)).toMatchObject({ status: 200 })
  })
})
