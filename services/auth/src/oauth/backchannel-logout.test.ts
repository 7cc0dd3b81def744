import { appUrl } from '@parley/test/browser'
import { base64url } from 'jose'
import { sql } from 'kysely'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { createKey, openidProvider, signWith, startIssuer } from './issuer.testing.ts'
import { customProvider } from './provider-servers.testing.ts'
import { running } from './running.testing.ts'

const issuer = await startIssuer()
const other = await startIssuer()
afterAll(() => Promise.all([issuer.close(), other.close()]))

const custom = [
  openidProvider('corp', issuer.url),
  openidProvider('other', other.url),
  customProvider('plain', issuer.url),
]
const server = running({ auth: { isInviteRequired: false, maxActiveSessions: 50 }, oauth: { custom } })

beforeEach(() => server.recorded())

/** Signs in and returns the access token. */
async function arrive(sub: string, sid?: string, { id = 'corp', at = issuer } = {}): Promise<string> {
  at.claims = { sub, sid, email: `${sub}@example.com`, email_verified: true }
  at.userInfo = { sub }
  const { access_token } = await server.browser().arrive(`${appUrl}/auth/oauth/${id}`)
  return access_token!
}
const isIn = async (token: string) => (await server.whoIs(token)).status === 200

async function logOut(token: string, id = 'corp') {
  const body = new URLSearchParams({ logout_token: token })
  const response = await fetch(`${server.baseUrl}/auth/oauth/${id}/backchannel-logout`, { method: 'POST', body })
  return { status: response.status, cache: response.headers.get('cache-control') }
}

describe('a logout token', () => {
  test('ends the session that it names, with its streams, and no other', async () => {
    const [one, two] = [await arrive('ann', 'session-1'), await arrive('ann', 'session-2')]
    await server.recorded()
    expect(await logOut(await issuer.logoutToken({ sid: 'session-1' }))).toEqual({ status: 200, cache: 'no-store' })
    expect([await isIn(one), await isIn(two)]).toEqual([false, true])
    expect(await server.recorded()).toMatchObject([{ routing: { endSessions: [expect.any(String)] } }])
    const audited = await server.deps.db
      .selectFrom('auditLog')
      .selectAll()
      .where('action', '=', 'session.end')
      .execute()
    expect(audited.at(-1)).toMatchObject({ metadata: { reason: 'logout at the provider' } })
  })

  test('ends all sessions of the person that it names, and nobody else’s', async () => {
    const [one, two, bob] = [await arrive('cid', 'c1'), await arrive('cid'), await arrive('bob', 'b1')]
    expect(await logOut(await issuer.logoutToken({ sub: 'cid' }))).toMatchObject({ status: 200 })
    expect([await isIn(one), await isIn(two), await isIn(bob)]).toEqual([false, false, true])
  })

  test('with both names ends the session of that person alone', async () => {
    const token = await arrive('dora', 'd1')
    expect(await logOut(await issuer.logoutToken({ sub: 'bob', sid: 'd1' }))).toMatchObject({ status: 200 })
    expect(await isIn(token)).toBe(true)
    expect(await logOut(await issuer.logoutToken({ sub: 'dora', sid: 'd1' }))).toMatchObject({ status: 200 })
    expect(await isIn(token)).toBe(false)
  })

  test('ends a session whose sign-in is not committed yet', async () => {
    await arrive('fritz', 'f1')
    const { db } = server.deps
    const { signingIn, loggingOut } = await db.transaction().execute(async (trx) => {
      await trx.selectFrom('users').select('id').where('email', '=', 'fritz@example.com').forUpdate().execute()
      const waiters = async () => {
        const { rows } = await sql`
          select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(db)
        return rows.length
      }
      const signingIn = arrive('fritz', 'f2')
      await expect.poll(waiters).toBe(1)
      const logout = await issuer.logoutToken({ sid: 'f2' })
      const loggingOut = logOut(logout)
      await Promise.race([loggingOut, expect.poll(waiters).toBe(2)])
      return { signingIn, loggingOut }
    })
    expect(await loggingOut).toMatchObject({ status: 200 })
    expect(await isIn(await signingIn)).toBe(false)
  })

  test.each([
    ['the session', { sid: 'g1' }],
    ['the person', { sub: 'greta' }],
    ['both', { sub: 'greta', sid: 'g1' }],
  ])('that names %s refuses a sign-in that asks the provider just now', async (_, names) => {
    const answer = issuer.answers['/token']!
    issuer.answers['/token'] = async (...args) => {
      issuer.answers['/token'] = answer
      expect(await logOut(await issuer.logoutToken(names))).toMatchObject({ status: 200 })
      return answer(...args)
    }
    issuer.claims = { sub: 'greta', sid: 'g1', email: 'greta@example.com', email_verified: true }
    issuer.userInfo = { sub: 'greta' }
    const arrived = await server.browser().arrive(`${appUrl}/auth/oauth/corp`)
    expect(arrived).toHaveProperty('oauth_error', 'The provider refused the sign-in. Please try again.')
    // A new sign-in is not affected.
    server.pass(1)
    expect(await isIn(await arrive('greta', 'g1'))).toBe(true)
  })

  test('of one provider does not end a session of another', async () => {
    const token = await arrive('eve', 'e1', { id: 'other', at: other })
    expect(await logOut(await issuer.logoutToken({ sub: 'eve', sid: 'e1' }))).toMatchObject({ status: 200 })
    expect(await logOut(await other.logoutToken({ sid: 'e1' }))).toMatchObject({ status: 400 })
    expect(await isIn(token)).toBe(true)
    expect(await logOut(await other.logoutToken({ sid: 'e1' }), 'other')).toMatchObject({ status: 200 })
    expect(await isIn(token)).toBe(false)
  })

  test('counts once', async () => {
    const token = await issuer.logoutToken({ sub: 'fay' })
    const responses = await Promise.all([logOut(token), logOut(token), logOut(token)])
    expect(responses.map(({ status }) => status).sort()).toEqual([200, 400, 400])
    const again = await arrive('fay', 'f1')
    expect(await logOut(token)).toMatchObject({ status: 400 })
    expect(await isIn(again)).toBe(true)
  })
})

describe('a logout token is refused', () => {
  const seconds = () => Math.floor(Date.now() / 1000)
  const refused = async (token: string) => {
    const session = await arrive('gus', 'g1')
    expect(await logOut(token)).toMatchObject({ status: 400 })
    expect(await isIn(session)).toBe(true)
  }

  test.each<[string, Record<string, unknown>]>([
    ['with a nonce', { nonce: 'a' }],
    ['without an event', { events: undefined }],
    ['with another event', { events: { 'http://schemas.openid.net/event/other': {} } }],
    ['with an event that is no object', { events: { 'http://schemas.openid.net/event/backchannel-logout': true } }],
    ['for somebody else', { aud: 'another-client' }],
    ['of another issuer', { iss: 'https://other.example.com' }],
    ['about nobody', { sub: undefined, sid: undefined }],
    ['about somebody whose name is no text', { sub: 7 }],
    ['without an id', { jti: undefined }],
    ['without a time', { iat: undefined }],
    ['that is old', { iat: seconds() - 3_600 }],
    ['from the future', { iat: seconds() + 3_600 }],
    ['that has expired', { exp: seconds() - 120 }],
  ])('%s', async (_, claims) => {
    await refused(await issuer.logoutToken({ sub: 'gus', ...claims }))
  })

  test('of another kind', async () => {
    await refused(await issuer.logoutToken({ sub: 'gus' }, { typ: 'at+jwt' }))
  })

  test('signed by a stranger, or by nobody', async () => {
    const [header, payload] = (await issuer.logoutToken({ sub: 'gus' })).split('.')
    const claims = JSON.parse(new TextDecoder().decode(base64url.decode(payload!)))
    await refused(await signWith(await createKey('first'))(claims))
    await refused(`${base64url.encode(JSON.stringify({ alg: 'none', typ: 'logout+jwt' }))}.${payload}.`)
    await refused(`${header}.${payload}.AAAA`)
    await refused('no token')
  })
})

test('the address does not exist for a provider without an issuer, or an unknown one', async () => {
  expect(await logOut('a', 'plain')).toMatchObject({ status: 404 })
  expect(await logOut('a', 'nobody')).toMatchObject({ status: 404 })
})

describe('while the keys are out of reach', () => {
  const fresh = running({ oauth: { custom } })

  test('the provider gets a response that asks it to try again', async () => {
    const path = '/.well-known/openid-configuration'
    const document = issuer.answers[path]!
    issuer.answers[path] = (_, response) => response.writeHead(503).end()
    const logout_token = await issuer.logoutToken({ sub: 'ann' })
    const ask = () =>
      fetch(`${fresh.baseUrl}/auth/oauth/corp/backchannel-logout`, {
        method: 'POST',
        body: new URLSearchParams({ logout_token }),
      })
    const response = await ask()
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '5'])
    issuer.answers[path] = document
    expect((await ask()).status).toBe(200)
  })
})

describe('logging out here', () => {
  test('returns the address of the provider that ends the session there', async () => {
    const token = await arrive('hal', 'h1')
    const { status, body } = await server.nobody.post('/auth/logout', {}, { authorization: `Bearer ${token}` })
    expect(status).toBe(200)
    const { origin, pathname, searchParams } = new URL(body.logoutUrl)
    expect(origin + pathname).toBe(`${issuer.url}/logout`)
    expect(Object.fromEntries(searchParams)).toEqual({
      client_id: 'a-client',
      id_token_hint: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
      post_logout_redirect_uri: `${appUrl}/`,
    })
    const stored = await server.deps.db
      .selectFrom('providerSessions')
      .select('idToken')
      .where('sid', '=', 'h1')
      .execute()
    expect(JSON.stringify(stored)).not.toContain(searchParams.get('id_token_hint'))
  })

  test('returns no such address for a provider without an issuer', async () => {
    issuer.userInfo = { email: 'ida@example.com' }
    const { access_token } = await server.browser().arrive(`${appUrl}/auth/oauth/plain`)
    const { body } = await server.nobody.post('/auth/logout', {}, { authorization: `Bearer ${access_token}` })
    expect(body).toEqual({ success: true, message: 'Signed out' })
  })
})
