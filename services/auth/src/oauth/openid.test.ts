import { appUrl, type Browser, createBrowser } from '@parley/test/browser'
import { startOpenid } from '@parley/test/openid'
import { testEnvironment } from '@parley/test/test-environment'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { customProvider } from './provider-servers.testing.ts'
import { addPerson, running } from './running.testing.ts'

const client = {
  clientId: 'acme-client',
  // Characters that must be encoded in a form.
  clientSecret: 'acme secret: 100%&more',
  redirectUri: `${appUrl}/auth/oauth/acme/callback`,
}
const openid = await startOpenid(client)
afterAll(() => openid.close())

const acme = {
  ...client,
  id: 'acme',
  name: 'The Acme company',
  authorizationUrl: `${openid.url}/auth`,
  tokenUrl: `${openid.url}/token`,
  userInfoUrl: `${openid.url}/me`,
  scopes: ['openid', 'email', 'profile'],
}
const other = { ...customProvider('other', openid.url), name: 'Another' }
const settings = (isInviteRequired: boolean) => ({ auth: { isInviteRequired }, oauth: { custom: [acme, other] } })

describe('signing in with an OpenID provider', () => {
  const server = running(settings(false))
  let browser: Browser
  beforeEach(async () => {
    browser = server.browser()
    await server.recorded()
  })
  const arrive = () => browser.arrive(`${appUrl}/auth/oauth/acme`)

  test('the providers are listed', async () => {
    expect(await server.nobody.get('/auth/oauth/providers')).toMatchObject({
      status: 200,
      body: {
        providers: [
          { id: 'acme', name: 'The Acme company', loginUrl: '/auth/oauth/acme' },
          { id: 'other', name: 'Another', loginUrl: '/auth/oauth/other' },
        ],
        count: 2,
      },
    })
  })

  test('a verified address that NFKC folds into the address of another person is refused', async () => {
    await addPerson(server, 'Boss')
    openid.signedIn.claims = { email: 'ᵇoss@example.com', email_verified: true, name: 'Intruder' }
    expect(await arrive()).toEqual({ oauth_error: expect.any(String), oauth_error_code: 'unusable_email' })
    const people = await server.deps.db.selectFrom('users').select('email').execute()
    expect(people.map(({ email }) => email)).toEqual(['boss@example.com'])
  })

  test('a new person is created from the profile, a known person is recognised', async () => {
    openid.signedIn.claims = { email: 'New@example.com', email_verified: true, name: 'Newcomer' }
    const first = await arrive()
    expect(first).toEqual({ access_token: expect.any(String), refresh_token: expect.any(String), expires_in: '900' })
    const me = (await server.whoIs(first.access_token)).user
    expect(me).toMatchObject({ userName: 'Newcomer', email: 'new@example.com', isAdmin: false })
    expect(await server.recorded()).toEqual([
      { type: 'NEW_USER', payload: { ...me, createdAt: expect.any(Number) }, routing: { to: 'everyone', guests: [] } },
    ])

    const second = await arrive()
    expect((await server.whoIs(second.access_token)).user).toEqual(me)
    expect(await server.recorded()).toEqual([])
  })

  test('the tokens can be refreshed', async () => {
    openid.signedIn.claims = { email: 'refreshing@example.com' }
    const { refresh_token } = await arrive()
    const response = await server.nobody.post('/auth/refresh', { refreshToken: refresh_token })
    expect(response).toMatchObject({ status: 200, body: { accessToken: expect.any(String) } })
  })

  test('a name that is taken gets a number, and a missing one is made from the address', async () => {
    for (const [email, name, expected] of [
      ['tess1@example.com', 'Tess', 'Tess'],
      ['tess2@example.com', 'Tess', 'Tess2'],
      ['unnamed@example.com', undefined, 'unnamed'],
      ['here@example.com', 'here', 'here2'],
    ]) {
      openid.signedIn.claims = { email, name }
      const { access_token } = await server.browser().arrive(`${appUrl}/auth/oauth/acme`)
      expect((await server.whoIs(access_token)).user).toMatchObject({ userName: expected })
    }
  })

  test('the oldest session ends', async () => {
    openid.signedIn.claims = { email: 'busy@example.com' }
    const tokens: string[] = []
    for (let n = 0; n < 4; n++) tokens.push((await arrive()).access_token!)
    const inside = await Promise.all(tokens.map(async (token) => (await server.whoIs(token)).status))
    expect(inside).toEqual([401, 200, 200, 200])
  })

  test.each([
    ['verified', { email_verified: true }, undefined],
    ['not said to be verified or not', {}, undefined],
    ['said to be unverified', { email_verified: false }, 'no_verified_email'],
  ])('an address that is %s', async (_, claims, failure) => {
    openid.signedIn.claims = { email: 'claimed@example.com', ...claims }
    expect((await arrive()).oauth_error_code).toBe(failure)
  })

  test.each([
    ['no address', undefined, 'no_verified_email'],
    ['an empty address', '', 'no_verified_email'],
    ['no text', ['ann@example.com'], 'no_verified_email'],
    ['something else', 'somebody', 'unusable_email'],
  ])('%s in the profile is refused', async (_, email, failure) => {
    openid.signedIn.claims = { email }
    expect(await arrive()).toEqual({ oauth_error: expect.any(String), oauth_error_code: failure })
    expect(await server.recorded()).toEqual([])
  })
})

describe('where an invitation is required', () => {
  const server = running(settings(true))
  const arrive = () => server.browser().arrive(`${appUrl}/auth/oauth/acme`)

  test('a person who was added signs in, whatever the case of the address', async () => {
    const id = await addPerson(server, 'ann')
    openid.signedIn.claims = { email: 'ANN@example.com' }
    const { access_token } = await arrive()
    expect(await server.whoIs(access_token)).toMatchObject({ status: 200, user: { id } })
  })

  test('unknown and removed people are refused', async () => {
    const gone = await addPerson(server, 'gone')
    await server.deps.db.updateTable('users').set({ removedAt: 1 }).where('id', '=', gone).execute()
    await server.recorded()
    for (const email of ['stranger@example.com', 'gone@example.com']) {
      openid.signedIn.claims = { email }
      expect(await arrive()).toEqual({ oauth_error: expect.any(String), oauth_error_code: 'not_invited' })
    }
    expect(await server.recorded()).toEqual([])
  })
})

describe('in the whole server', () => {
  const environment = testEnvironment({ auth: { appUrl }, oauth: { custom: [acme] } })

  test('the capabilities name OAuth, and everyone gets the event of a new person', async () => {
    expect((await environment.people.nobody.get('/config.json')).body.auth.oauthEnabled).toBe(true)
    openid.signedIn.claims = { email: 'dora@example.com', name: 'Dora' }
    const { access_token } = await createBrowser(environment.baseUrl, null).arrive(`${appUrl}/auth/oauth/acme`)
    expect(access_token).toBeDefined()
    await environment.events
      .to(environment.people.bob)
      .toHave('NEW_USER', { userName: 'Dora', email: 'dora@example.com' })
  })
})

describe('where no provider is configured', () => {
  const server = running({})

  test.each(['/auth/oauth/providers', '/auth/oauth/google', '/auth/oauth/google/callback?code=a&state=b'])(
    '%s does not exist',
    async (path) => {
      const response = await server.nobody.get(path)
      expect(response).toMatchObject({ status: 404, body: { error: expect.any(String) } })
    },
  )
})
