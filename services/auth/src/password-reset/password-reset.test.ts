import { createOneTimeLinks } from '@parley/accounts'
import type { LinkPurpose } from '@parley/database'
import { Person } from '@parley/test'
import { describe, expect, test } from 'vitest'
import { runningAuth, tokensOf } from '../auth.testing.ts'

const appUrl = 'https://chat.example.com'
const server = runningAuth({ auth: { authMode: 'password', appUrl }, email: { host: 'mail.example.com' } })
const [first, second] = ['first password', 'second password']
const nowhere = { status: 400, body: { error: expect.any(String) } }

const post = (path: string, body: unknown, headers = {}) => server.nobody.post(path, body, headers)
const login = (email: string, password: string) => post('/auth/password-login', { email, password })
const ask = (email: string) => post('/auth/request-password-reset', { email })
const setUp = (email: string, token: string, password = second) =>
  post('/auth/setup-password', { email, token, password })
const auditOf = (id: string) =>
  server.deps.db
    .selectFrom('auditLog')
    .selectAll()
    .where('targetId', '=', id)
    .where('action', '=', 'user.password.reset')
    .execute()

async function askedToken(email: string): Promise<string> {
  await ask(email)
  const mail = (await server.mailTo(email)).at(-1)!
  return new URL(/https:\S+/.exec(mail.text)![0]).searchParams.get('token')!
}

/** A token as in an invitation, or in a mail of another mode. */
async function issuedToken(purpose: LinkPurpose, email: string, userId: string): Promise<string> {
  const { db, config, clock } = server.deps
  const links = createOneTimeLinks(config)
  const link = await db.transaction().execute((trx) => links.issue(trx, { purpose, email, userId, now: clock() }))
  return new URL(link).searchParams.get('token')!
}

describe('a reset', () => {
  test('is mailed to a person with a password; the new password ends all sessions and starts one', async () => {
    const { id } = await server.invite('ann@example.com', first)
    const before = (await login('ann@example.com', first)).body
    expect(await ask(' Ann@Example.com')).toMatchObject({ status: 200, body: { success: true } })

    const [mail] = await server.mailTo('ann@example.com')
    const link = new URL(/https:\S+/.exec(mail!.text)![0])
    expect([link.origin, link.pathname, [...link.searchParams.keys()]]).toEqual([appUrl, '/reset', ['token', 'email']])
    expect(link.searchParams.get('email')).toBe('ann@example.com')

    const response = await setUp('ANN@example.com', link.searchParams.get('token')!)
    expect(response).toMatchObject({ status: 200, body: tokensOf(900) })
    const withToken = (token: string) => new Person(server.nobody.baseUrl, { id, userName: 'ann' }, token)
    expect(await withToken(response.body.accessToken).get('/auth/me')).toMatchObject({ status: 200 })
    expect(await withToken(before.accessToken).get('/auth/me')).toMatchObject({ status: 401 })
    expect(await post('/auth/refresh', { refreshToken: before.refreshToken })).toMatchObject({ status: 401 })
    expect(await login('ann@example.com', first)).toMatchObject({ status: 401 })
    expect(await login('ann@example.com', second)).toMatchObject({ status: 200 })
    expect(await auditOf(id)).toMatchObject([{ actorId: id, targetType: 'user' }])
  })

  test('by somebody who was deactivated meanwhile leaves nothing but the attempt in the audit log', async () => {
    const { id } = await server.invite('late@example.com', first)
    const token = await askedToken('late@example.com')
    const users = server.deps.db.updateTable('users').where('id', '=', id)
    await users.set({ deactivatedAt: 1 }).execute()
    const audited = server.deps.db.selectFrom('auditLog').select(['action', 'metadata']).where('targetId', '=', id)
    const before = await audited.execute()
    expect(await setUp('late@example.com', token)).toMatchObject({
      status: 403,
      body: { code: 'account_deactivated' },
    })
    const attempt = { action: 'login.failure', metadata: { method: 'reset', reason: 'account_deactivated' } }
    expect(await audited.orderBy('id').execute()).toEqual([...before, attempt])

    await users.set({ deactivatedAt: null }).execute()
    expect(await login('late@example.com', first)).toMatchObject({ status: 200 })
    expect(await setUp('late@example.com', token)).toMatchObject({ status: 200 })
  })

  test('accepts its token as a Bearer token too', async () => {
    await server.invite('bearer@example.com', first)
    const token = await askedToken('bearer@example.com')
    const body = { email: 'bearer@example.com', password: second }
    expect(await post('/auth/setup-password', body, { authorization: `Bearer ${token}` })).toMatchObject({
      status: 200,
    })
  })

  test('works once, also when ten try at once', async () => {
    await server.invite('race@example.com', first)
    const token = await askedToken('race@example.com')
    const responses = await Promise.all(
      Array.from({ length: 10 }, (_, index) => setUp('race@example.com', token, `password ${index}`)),
    )
    expect(responses.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(400)])
    const winner = responses.findIndex(({ status }) => status === 200)
    expect(await login('race@example.com', `password ${winner}`)).toMatchObject({ status: 200 })
    expect(await setUp('race@example.com', token)).toMatchObject(nowhere)
  })

  test('a newer link replaces the older one, and every link expires after an hour', async () => {
    await server.invite('later@example.com', first)
    const older = await askedToken('later@example.com')
    const newer = await askedToken('later@example.com')
    expect(await setUp('later@example.com', older)).toMatchObject(nowhere)
    server.pass(3_600_000)
    expect(await setUp('later@example.com', newer)).toMatchObject(nowhere)
    expect(await login('later@example.com', first)).toMatchObject({ status: 200 })
  })

  test('unlocks an account that was locked by wrong passwords', async () => {
    await server.invite('locked@example.com', first)
    for (let index = 0; index < 10; index++) await login('locked@example.com', 'wrong password')
    expect(await login('locked@example.com', first)).toMatchObject({ status: 429 })
    expect(await setUp('locked@example.com', await askedToken('locked@example.com'))).toMatchObject({ status: 200 })
    expect(await login('locked@example.com', second)).toMatchObject({ status: 200 })
  })

  test('unknown people and people without a password get the same response and no mail', async () => {
    await server.invite('known@example.com', first)
    await server.invite('invited@example.com')
    const answers = []
    for (const name of ['known', 'invited', 'stranger']) answers.push(await ask(`${name}@example.com`))
    expect(new Set(answers.map(({ status, body }) => `${status} ${JSON.stringify(body)}`)).size).toBe(1)
    expect(await server.mailTo('known@example.com')).toHaveLength(1)
    expect(await server.mailTo('invited@example.com')).toEqual([])
    expect(await server.mailTo('stranger@example.com')).toEqual([])
  })

  test('an address gets five mails in 15 minutes, and everybody gets the same response', async () => {
    await server.invite('bombed@example.com', first)
    const responses = await Promise.all(Array.from({ length: 9 }, () => ask('bombed@example.com')))
    expect(new Set(responses.map(({ status, body }) => `${status} ${JSON.stringify(body)}`)).size).toBe(1)
    expect(await server.mailTo('bombed@example.com')).toHaveLength(5)
  })

  test('refuses a short password and keeps the link valid', async () => {
    await server.invite('short@example.com', first)
    const token = await askedToken('short@example.com')
    expect(await setUp('short@example.com', token, '1234567')).toMatchObject(nowhere)
    expect(await setUp('short@example.com', token)).toMatchObject({ status: 200 })
  })

  test.each([
    ['of somebody else', async () => ({ token: await askedToken('whose@example.com'), email: 'other@example.com' })],
    ['to sign in', async (id: string) => ({ token: await issuedToken('login', 'whose@example.com', id) })],
    ['of a refresh', async () => ({ token: (await login('whose@example.com', first)).body.refreshToken })],
    ['that is none', async () => ({ token: 'nonsense' })],
    ['that is empty', async () => ({ token: '' })],
    ['that is missing', async () => ({ token: undefined })],
  ])('a token %s sets no password', async (_, give) => {
    const { id } =
      (await server.deps.db
        .selectFrom('users')
        .select('id')
        .where('email', '=', 'whose@example.com')
        .executeTakeFirst()) ?? (await server.invite('whose@example.com', first))
    const body = { email: 'whose@example.com', password: second, ...(await give(id)) }
    const before = server.passwords.begun
    expect(await post('/auth/setup-password', body)).toMatchObject(nowhere)
    expect(server.passwords.begun).toBe(before)
  })
})

describe('an invitation', () => {
  test('sets a first password, which does not count as a reset', async () => {
    const { id } = await server.invite('new@example.com')
    const token = await issuedToken('invite', 'new@example.com', id)
    expect(await setUp('new@example.com', token)).toMatchObject({ status: 200, body: tokensOf(900) })
    expect(await auditOf(id)).toEqual([])
    expect(await login('new@example.com', second)).toMatchObject({ status: 200 })
    expect(await setUp('new@example.com', token)).toMatchObject(nowhere)
  })

  test('to an address that the person no longer has does not work', async () => {
    const { id } = await server.invite('old@example.com')
    const token = await issuedToken('invite', 'old@example.com', id)
    const changeTo = (email: string) =>
      server.deps.db.updateTable('users').set({ email }).where('id', '=', id).execute()
    await changeTo('new-address@example.com')
    expect(await setUp('old@example.com', token)).toMatchObject(nowhere)
    await changeTo('old@example.com')
    expect(await setUp('old@example.com', token)).toMatchObject({ status: 200 })
  })

  test('to an address in its other spelling works', async () => {
    const { id } = await server.invite('ann@łódź.example')
    const token = await issuedToken('invite', 'ann@xn--d-uga0v4h.example', id)
    expect(await setUp('ann@xn--d-uga0v4h.example', token)).toMatchObject({ status: 200 })
  })

  test('of a removed person does not work, also when another person has the address now', async () => {
    const { id } = await server.invite('gone@example.com')
    const token = await issuedToken('invite', 'gone@example.com', id)
    await server.deps.db.updateTable('users').set({ removedAt: 1 }).where('id', '=', id).execute()
    expect(await setUp('gone@example.com', token)).toMatchObject(nowhere)
    await server.invite('gone@example.com')
    expect(await setUp('gone@example.com', token)).toMatchObject(nowhere)
  })
})
