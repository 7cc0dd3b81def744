import { Person, StreamRefused } from '@parley/test'
import { expect, test } from 'vitest'
import type { TestServer } from '../src/test-server.ts'

export function sessionJourneys(server: TestServer) {
  test('the initial admin signs in and is known', async () => {
    const admin = await server.admin()
    expect(await admin.get('/auth/me')).toMatchObject({
      status: 200,
      body: { user: { id: admin.id, email: 'admin@example.com', isAdmin: true } },
    })
    const config = await Person.nobody(server.baseUrl).get('/config.json')
    expect(config).toMatchObject({ status: 200, body: { auth: { mode: 'dev', isInviteRequired: false } } })
  })

  test('no cache keeps a private answer, and a 401 names its scheme', async () => {
    const ann = await server.newcomer('ann')
    const nobody = Person.nobody(server.baseUrl)
    for (const response of [
      await nobody.post('/auth/dev-login', { email: `${ann.userName}@example.com` }),
      await nobody.post('/auth/refresh', { refreshToken: ann.refreshToken }),
      await ann.get('/users'),
      await ann.get('/channels'),
      await ann.get('/conversations'),
      await ann.get('/admin/export'),
      await ann.get('/no/such/address'),
    ]) {
      expect(response.headers['cache-control']).toBe('no-store')
      expect(response.headers['www-authenticate']).toBeUndefined()
    }
    for (const response of [await nobody.get('/users'), await nobody.post('/auth/refresh', { refreshToken: 'none' })]) {
      expect(response).toMatchObject({
        status: 401,
        headers: { 'www-authenticate': 'Bearer', 'cache-control': 'no-store' },
      })
    }
  })

  test('a first sign-in has an event for everyone', async () => {
    const admin = await server.admin()
    const stream = await admin.opensStream()
    const ann = await server.newcomer('ann')
    const { payload } = await stream.waitFor('NEW_USER', { id: ann.id })
    expect(payload).toMatchObject({ userName: ann.userName, isAdmin: false })
    await stream.close()
  })

  test('a refresh rotates, a lost answer may be asked for again, and theft ends the session', async () => {
    const ann = await server.newcomer('ann')
    const refresh = (refreshToken: string | undefined) =>
      Person.nobody(server.baseUrl).post('/auth/refresh', { refreshToken })

    const first = ann.refreshToken
    const second = await refresh(first)
    expect(second).toMatchObject({
      status: 200,
      body: { accessToken: expect.any(String), exp: 900, tokenType: 'Bearer' },
    })
    expect(second.body.refreshToken).not.toBe(first)
    expect((await refresh(first)).body.refreshToken).toBe(second.body.refreshToken)

    const third = await refresh(second.body.refreshToken)
    expect(third.status).toBe(200)
    ann.token = third.body.accessToken
    expect((await ann.get('/auth/me')).status).toBe(200)

    expect((await refresh(first)).status).toBe(401)
    expect((await ann.get('/auth/me')).status).toBe(401)
    expect((await refresh(third.body.refreshToken)).status).toBe(401)
  })

  test('two tabs that refresh at once get the same successor', async () => {
    const { refreshToken } = await server.newcomer('ann')
    const responses = await Promise.all(
      Array.from({ length: 8 }, () => Person.nobody(server.baseUrl).post('/auth/refresh', { refreshToken })),
    )
    expect(responses.map(({ status }) => status)).toEqual(Array(8).fill(200))
    expect(new Set(responses.map(({ body }) => body.refreshToken)).size).toBe(1)
  })

  test('logout ends the token and the open streams of that session, and no other', async () => {
    const ann = await server.newcomer('ann')
    const elsewhere = await Person.signIn(server.baseUrl, `${ann.userName}@example.com`)
    const [stream, other] = await Promise.all([ann.opensStream(), elsewhere.opensStream()])

    expect((await ann.post('/auth/logout', { refreshToken: ann.refreshToken })).status).toBe(200)
    await stream.ended
    expect((await ann.get('/auth/me')).status).toBe(401)
    expect((await ann.post('/channels', { name: server.unique('ghost') })).status).toBe(401)
    await expect(ann.opensStream(stream.cursor)).rejects.toMatchObject({ status: 401 })

    const channel = await elsewhere.creates({ name: server.unique('still here') })
    await other.waitFor('NEW_CHANNEL', { id: channel.id })
    await other.close()
  })

  test('sessions are listed, and one is ended from another', async () => {
    const ann = await server.newcomer('ann')
    const lost = await Person.signIn(server.baseUrl, `${ann.userName}@example.com`)
    const stream = await lost.opensStream()
    const { sessions } = (await ann.get('/auth/sessions')).body
    expect(sessions.map(({ isCurrent }: { isCurrent: boolean }) => isCurrent).sort()).toEqual([false, true])

    const { id } = sessions.find(({ isCurrent }: { isCurrent: boolean }) => !isCurrent)
    expect((await ann.delete(`/auth/sessions/${id}`)).status).toBe(200)
    await stream.ended
    expect((await lost.get('/auth/me')).status).toBe(401)
    expect((await ann.get('/auth/sessions')).body.sessions).toHaveLength(1)
  })

  test('every described route except the open ones refuses a missing or wrong token', async () => {
    const nobody = Person.nobody(server.baseUrl)
    const { paths } = (await nobody.get('/openapi.json')).body as { paths: Record<string, Record<string, unknown>> }
    const operations = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => ({ method: method.toUpperCase(), path })),
    )
    expect(operations.length).toBeGreaterThan(20)
    const answers = await Promise.all(
      operations.flatMap(({ method, path }) =>
        [undefined, 'Bearer nonsense', 'Basic YTpi'].map(async (authorization) => {
          const response = await fetch(server.baseUrl + path.replaceAll(/\{\w+\}/g, 'x'), {
            method,
            headers: authorization ? { authorization } : {},
            redirect: 'manual',
          })
          // The reply to HEAD is the reply to GET without the body.
          const hasReason = async () => typeof ((await response.json()) as { error?: unknown }).error === 'string'
          const isRefusal = response.status === 401 && (method === 'HEAD' || (await hasReason()))
          return { route: `${method === 'HEAD' ? 'GET' : method} ${path}`, isRefusal }
        }),
      ),
    )
    const open = new Set(answers.filter(({ isRefusal }) => !isRefusal).map(({ route }) => route))
    expect([...open].sort()).toEqual(openRoutes.filter((route) => open.has(route)))
    expect(open.size).toBeGreaterThan(0)
  })

  test('a stream needs a token too, in the header or in the query', async () => {
    const ann = await server.newcomer('ann')
    await expect(Person.nobody(server.baseUrl).opensStream()).rejects.toBeInstanceOf(StreamRefused)
    const byQuery = await fetch(`${server.baseUrl}/events?token=${ann.token}`)
    expect(byQuery.status).toBe(200)
    await byQuery.body?.cancel()
    expect((await fetch(`${server.baseUrl}/events?token=nonsense`)).status).toBe(401)
  })
}

/** Routes without a token: the interface's access "none", the routes of the sign-in modes, health and the description itself. */
const openRoutes = [
  'GET /',
  'GET /auth/config',
  'GET /auth/oauth/providers',
  'GET /auth/oauth/{providerId}',
  'GET /auth/oauth/{providerId}/callback',
  'GET /auth/saml/{providerId}',
  'GET /auth/saml/{providerId}/metadata',
  'GET /config.json',
  'GET /docs',
  'GET /health',
  'GET /health/live',
  'GET /health/ready',
  'GET /openapi.json',
  'GET /slack/api/{method}',
  'POST /auth/dev-login',
  'POST /auth/login',
  'POST /auth/mfa',
  'POST /auth/oauth/{providerId}/backchannel-logout',
  'POST /auth/passkeys/authentication',
  'POST /auth/passkeys/sign-in',
  'POST /auth/password-login',
  'POST /auth/refresh',
  'POST /auth/register',
  'POST /auth/request-password-reset',
  'POST /auth/saml/{providerId}/acs',
  'POST /auth/setup-password',
  'POST /auth/verify',
  // These routes need only the secret in the address.
  'POST /hooks/responses/{responseId}/{secret}',
  'POST /hooks/{webhookId}/{secret}',
  // Slack's methods reply 200, with the error in the body.
  'POST /slack/api/{method}',
  // This route needs the token of a webhook, but an unknown webhook gets 404 before that.
  'POST /webhooks/{webhookId}/messages',
]
