import { auditFailedSignIn, auditLockout } from '@parley/accounts'
import { Person } from '@parley/test'
import { beforeEach, describe, expect, test } from 'vitest'
import { runningAuth } from '../auth.testing.ts'

const server = runningAuth({
  auth: { authMode: 'password', maxActiveSessions: 2 },
  email: { host: 'mail.example.com' },
})
const right = 'correct horse'
const from = { 'x-forwarded-for': '192.0.2.1', 'user-agent': 'a browser' }
const login = (email: string, password: string, requestId = 'r') =>
  server.nobody.post('/auth/password-login', { email, password }, { ...from, 'x-request-id': requestId })
async function signIn(email: string, requestId?: string): Promise<Person> {
  const { status, body } = await login(email, right, requestId)
  expect(status).toBe(200)
  return new Person(server.nobody.baseUrl, { id: '', userName: '' }, body.accessToken, body.refreshToken)
}
const sessionOf = (person: Person) => server.deps.tokens.readRefresh(person.refreshToken!).sessionId
const entries = () =>
  server.deps.db
    .selectFrom('auditLog')
    .select(['action', 'actorId', 'targetType', 'targetId', 'metadata', 'ip'])
    .where('action', '<>', 'user.create')
    .orderBy('id')
    .execute()
/** The logged fields of one request. */
const logged = (requestId: string) =>
  server.logs
    .filter((line) => line.requestId === requestId)
    .map(({ msg, userId, sessionId, sessionIds, method, reason, scope }) => ({
      msg,
      userId,
      ...(sessionId !== undefined && { sessionId }),
      ...(sessionIds !== undefined && { sessionIds }),
      ...(method !== undefined && { method }),
      ...(reason !== undefined && { reason }),
      ...(scope !== undefined && { scope }),
    }))

let people = 0
let email: string
let id: string
beforeEach(async () => {
  email = `person${++people}@example.com`
  id = (await server.invite(email, right)).id
  server.pass(900_000)
  server.logs.length = 0
  await server.deps.pool.query('truncate audit_log')
})

describe('the audit log and the log have', () => {
  test('the right password of somebody who is deactivated, and of a guest whose time is over', async () => {
    const users = server.deps.db.updateTable('users').where('id', '=', id)
    const failure = { action: 'login.failure', actorId: 'anonymous', targetType: 'user', targetId: id, ip: '192.0.2.1' }
    const entry = { ...failure, metadata: { method: 'password', reason: 'account_deactivated' } }
    await users.set({ deactivatedAt: 1 }).execute()
    expect(await login(email, right, 'off')).toMatchObject({ status: 403, body: { code: 'account_deactivated' } })
    expect(await entries()).toEqual([entry])
    expect(logged('off')).toEqual([
      { msg: 'a sign-in failed', userId: id, method: 'password', reason: 'account_deactivated' },
    ])
    await users.set({ deactivatedAt: null, isGuest: true, guestExpiresAt: 1 }).execute()
    expect(await login(email, right)).toMatchObject({ status: 403 })
    expect(await entries()).toEqual([entry, entry])
  })

  test('sign-ins with their method, and the session that was replaced', async () => {
    const first = await signIn(email, 'first')
    await signIn(email)
    const third = await signIn(email, 'third')

    const created = { action: 'login.success', actorId: id, targetType: 'session', metadata: { method: 'password' } }
    expect(await entries()).toMatchObject([
      {
        ...created,
        targetId: sessionOf(first),
        ip: '192.0.2.1',
        metadata: { method: 'password', userAgent: 'a browser' },
      },
      created,
      { action: 'session.end', actorId: id, targetId: sessionOf(first), metadata: { reason: 'replaced' } },
      { ...created, targetId: sessionOf(third) },
    ])
    expect(logged('first')).toEqual([{ msg: 'signed in', userId: id, sessionId: sessionOf(first), method: 'password' }])
    expect(logged('third')).toEqual([
      { msg: 'signed in', userId: id, sessionId: sessionOf(third), method: 'password' },
      { msg: 'sessions ended', userId: id, sessionIds: [sessionOf(first)], reason: 'replaced' },
    ])
  })

  test('failures and the lockout', async () => {
    for (let index = 0; index < 11; index++) await login(email, 'wrong horse', `r${index}`)
    const anonymous = { actorId: 'anonymous', targetType: 'user', targetId: id, ip: '192.0.2.1' }
    expect(await entries()).toEqual([
      ...Array(10).fill({ action: 'login.failure', ...anonymous, metadata: { method: 'password' } }),
      { action: 'login.lockout', ...anonymous, metadata: { scope: 'account and network' } },
    ])
    const failed = { msg: 'a sign-in failed', userId: id, method: 'password', reason: 'wrong password' }
    for (let index = 0; index < 9; index++) expect(logged(`r${index}`)).toEqual([failed])
    expect(logged('r9')).toEqual([
      failed,
      { msg: 'a limit of wrong passwords was reached', userId: id, scope: 'account and network' },
    ])
    expect(logged('r10')).toEqual([
      { msg: 'a sign-in failed', userId: undefined, method: 'password', reason: 'too many wrong passwords' },
    ])
  })

  test('failures for an unknown address, without the address', async () => {
    await login('stranger@example.com', 'wrong horse', 'stranger')
    expect(await entries()).toMatchObject([{ action: 'login.failure', actorId: 'anonymous', targetId: 'unknown' }])
    expect(logged('stranger')).toMatchObject([{ msg: 'a sign-in failed', userId: undefined }])
    expect(JSON.stringify([await entries(), server.logs])).not.toContain('example.com')
  })

  test('the ends of sessions, by whom and why', async () => {
    const [one, other] = [await signIn(email), await signIn(email)]
    const header = { 'x-request-id': 'end' }
    await one.delete(`/auth/sessions/${sessionOf(other)}`, undefined, { ...from, ...header })
    await one.post('/auth/logout', {}, { ...from, ...header })
    const third = await signIn(email)
    await server.nobody.post('/auth/refresh', { refreshToken: third.refreshToken })
    server.pass(60_000)
    await server.nobody.post('/auth/refresh', { refreshToken: third.refreshToken }, { ...from, ...header })

    const ended = (person: Person, reason: string) => ({
      action: 'session.end',
      actorId: id,
      targetType: 'session',
      targetId: sessionOf(person),
      metadata: { reason },
      ip: '192.0.2.1',
    })
    const ends = (await entries()).filter(({ action }) => action === 'session.end')
    expect(ends).toEqual([ended(other, 'revoked'), ended(one, 'logout'), ended(third, 'reused')])
    expect(logged('end')).toMatchObject([
      { userId: id, sessionIds: [sessionOf(other)], reason: 'revoked' },
      { userId: id, sessionIds: [sessionOf(one)], reason: 'logout' },
      { sessionIds: [sessionOf(third)], reason: 'reused' },
    ])
  })

  test('a link that was used before, and a session that a new password ended', async () => {
    const before = await signIn(email)
    await server.nobody.post('/auth/request-password-reset', { email })
    const token = new URL(/https?:\S+/.exec((await server.mailTo(email))[0]!.text)![0]).searchParams.get('token')
    const setUp = (requestId: string) =>
      server.nobody.post('/auth/setup-password', { email, token, password: right }, { 'x-request-id': requestId })
    expect(await setUp('good')).toMatchObject({ status: 200 })
    expect(await setUp('used')).toMatchObject({ status: 400 })

    expect((await entries()).slice(1)).toMatchObject([
      { action: 'user.password.reset', actorId: id },
      { action: 'session.end', targetId: sessionOf(before), metadata: { reason: 'password changed' } },
      { action: 'login.success', actorId: id, metadata: { method: 'reset' } },
      { action: 'login.failure', actorId: 'anonymous', targetId: id, metadata: { method: 'reset' } },
    ])
    expect(logged('good')).toMatchObject([{ reason: 'password changed' }, { msg: 'signed in', method: 'reset' }])
    expect(logged('used')).toMatchObject([{ msg: 'a sign-in failed', method: 'reset' }])
  })
})

test('the audit log gets at most a hundred failures of an account and a thousand in all within an hour, and a hundred lockouts', async () => {
  const { db, clock } = server.deps
  const now = clock() + 3_600_000
  const fail = (userId: string | undefined) =>
    db.transaction().execute((trx) => auditFailedSignIn(trx, { method: 'password', userId, ip: '192.0.2.1', now }))
  for (let index = 0; index < 103; index++) await fail(undefined)
  for (let index = 0; index < 903; index++) await fail(`person ${index}`)
  for (let index = 0; index < 103; index++) {
    const ip = `198.51.100.${index}`
    await db.transaction().execute((trx) => auditLockout(trx, { scope: 'network', userId: undefined, ip, now }))
  }
  const written = await entries()
  const ofAccount = written.filter(({ targetId }) => targetId === 'unknown')
  const failures = written.filter(({ action }) => action === 'login.failure')
  const lockouts = written.filter(({ action }) => action === 'login.lockout')
  const marked = { metadata: { furtherOnlyInLog: true } }
  expect([ofAccount, failures, lockouts].map(({ length }) => length)).toEqual([100, 1_000, 100])
  for (const limited of [ofAccount, failures, lockouts]) expect(limited.at(-1)).toMatchObject(marked)
  expect(failures.filter(({ metadata }) => 'furtherOnlyInLog' in (metadata as object))).toHaveLength(2)
  expect(lockouts.at(-1)).toMatchObject({ targetType: 'network', targetId: '198.51.100.99' })
})
