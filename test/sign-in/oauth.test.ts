import { Person } from '@parley/test'
import { appUrl, createBrowser } from '@parley/test/browser'
import { createIdentityProvider } from '@parley/test/identity-provider'
import { startOpenid } from '@parley/test/openid'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Installation, launch, usualTopologies } from '../src/launch.ts'

/** Sign-in by an OpenID provider as an organisation runs it, in the cluster with two replicas of everything. */
describe.each(usualTopologies)('sign-in through providers, %s', (topology) => {
  const client = { clientId: 'parley', clientSecret: 'of tests', redirectUri: `${appUrl}/auth/oauth/corp/callback` }
  const idp = createIdentityProvider('directory')
  let openid: Awaited<ReturnType<typeof startOpenid>>
  let installation: Installation

  beforeAll(async () => {
    openid = await startOpenid({ ...client, redirectUris: [`${appUrl}/auth/oauth/discovered/callback`] })
    const corp = {
      ...client,
      id: 'corp',
      name: 'Our directory',
      authorizationUrl: `${openid.url}/auth`,
      tokenUrl: `${openid.url}/token`,
      userInfoUrl: `${openid.url}/me`,
      scopes: ['openid', 'email', 'profile'],
    }
    const { clientId, clientSecret } = client
    const discovered = { id: 'discovered', name: 'Discovered', issuer: openid.url, clientId, clientSecret }
    installation = await launch(topology, {
      env: {
        PARLEY_AUTH_AUTH_MODE: 'password',
        PARLEY_AUTH_APP_URL: appUrl,
        PARLEY_OAUTH_CUSTOM: JSON.stringify([corp, discovered]),
        PARLEY_SAML: JSON.stringify([idp.entry]),
        INITIAL_USER_PASSWORD: 'the password of the admin',
      },
    })
  })
  afterAll(async () => {
    await installation?.discard()
    await openid?.close()
  })

  /** The whole redirect to the provider and back to the application. */
  const arrive = (claims: Record<string, unknown>, id = 'corp') => {
    openid.signedIn.claims = claims
    return createBrowser(installation.baseUrl, null).arrive(`${appUrl}/auth/oauth/${id}`)
  }

  test('a new person signs in through the provider, writes, and is the same person the next time', async () => {
    const claims = { email: 'ann@example.com', email_verified: true, name: 'Ann' }
    const tokens = await arrive(claims)
    expect(tokens).toEqual({ access_token: expect.any(String), refresh_token: expect.any(String), expires_in: '900' })
    const ann = new Person(installation.baseUrl, { id: '', userName: 'Ann' }, tokens.access_token!)
    const me = (await ann.get('/auth/me')).body.user
    expect(me).toMatchObject({ userName: 'Ann', email: 'ann@example.com' })
    await ann.says('hello', await ann.creates({ name: 'of ann' }))

    const again = new Person(installation.baseUrl, me, (await arrive(claims)).access_token!)
    expect((await again.get('/auth/me')).body.user).toEqual(me)
  })

  test('a repeated callback leads back with a reason, and does not sign in', async () => {
    openid.signedIn.claims = { email: 'bob@example.com', email_verified: true }
    const browser = createBrowser(installation.baseUrl, null)
    const callback = await browser.reach(`${appUrl}/auth/oauth/corp`, /\/callback$/)
    expect(await browser.arrive(callback)).toMatchObject({ access_token: expect.any(String) })
    expect(await browser.arrive(callback)).toMatchObject({ oauth_error_code: 'invalid_state' })
  })
  test('a logout at a provider with an issuer ends the session here, with its streams', async () => {
    const claims = { email: 'cleo@example.com', email_verified: true, name: 'Cleo of the directory' }
    const { access_token } = await arrive(claims, 'discovered')
    const cleo = new Person(installation.baseUrl, { id: '', userName: 'Cleo' }, access_token!)
    expect((await cleo.get('/auth/me')).body.user).toMatchObject({ displayName: 'Cleo of the directory' })
    const stream = await cleo.opensStream()
    await openid.logOut(`${installation.baseUrl}/auth/oauth/discovered/backchannel-logout`)
    await stream.ended
    expect(await cleo.get('/auth/me')).toMatchObject({ status: 401 })

    const again = (await arrive(claims, 'discovered')).access_token!
    const { body } = await new Person(installation.baseUrl, { id: '', userName: 'Cleo' }, again).post(
      '/auth/logout',
      {},
    )
    expect(body.logoutUrl).toContain(`${openid.url}/session/end`)
  })

  test('a person signs in by SAML', async () => {
    const browser = createBrowser(installation.baseUrl, null)
    const response = idp.respond(await idp.begin(browser), { nameId: 'sam', attributes: { mail: 'sam@example.com' } })
    const { location } = await idp.post(browser, installation.baseUrl, response)
    const token = new URL(location!).searchParams.get('access_token')!
    const sam = new Person(installation.baseUrl, { id: '', userName: 'sam' }, token)
    expect((await sam.get('/auth/me')).body.user).toMatchObject({ email: 'sam@example.com' })
  })
})
