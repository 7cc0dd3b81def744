import { Person } from '@parley/test'
import { appUrl, createBrowser } from '@parley/test/browser'
import { startOpenid } from '@parley/test/openid'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Installation, launch } from '../src/launch.ts'

/** Sign-in by an OpenID provider as an organisation runs it, in the cluster with two replicas of everything. */
describe.each(['solo', 'cluster'] as const)('sign-in by OAuth, %s', (topology) => {
  const client = { clientId: 'parley', clientSecret: 'of tests', redirectUri: `${appUrl}/auth/oauth/corp/callback` }
  let openid: Awaited<ReturnType<typeof startOpenid>>
  let installation: Installation

  beforeAll(async () => {
    openid = await startOpenid(client)
    const corp = {
      ...client,
      id: 'corp',
      name: 'Our directory',
      authorizationUrl: `${openid.url}/auth`,
      tokenUrl: `${openid.url}/token`,
      userInfoUrl: `${openid.url}/me`,
      scopes: ['openid', 'email', 'profile'],
    }
    installation = await launch(topology, {
      env: {
        PARLEY_AUTH_AUTH_MODE: 'password',
        PARLEY_AUTH_APP_URL: appUrl,
        PARLEY_OAUTH_CUSTOM: JSON.stringify([corp]),
        INITIAL_USER_PASSWORD: 'the password of the admin',
      },
    })
  })
  afterAll(async () => {
    await installation?.discard()
    await openid?.close()
  })

  /** The whole way through the provider and back to the application. */
  const arrive = (claims: Record<string, unknown>) => {
    openid.signedIn.claims = claims
    return createBrowser(installation.baseUrl, null).arrive(`${appUrl}/auth/oauth/corp`)
  }

  test('somebody new comes in through the provider, talks, and is the same person the next time', async () => {
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

  test('a callback that is repeated leads back with a reason, and signs nobody in', async () => {
    openid.signedIn.claims = { email: 'bob@example.com', email_verified: true }
    const browser = createBrowser(installation.baseUrl, null)
    const callback = await browser.reach(`${appUrl}/auth/oauth/corp`, /\/callback$/)
    expect(await browser.arrive(callback)).toMatchObject({ access_token: expect.any(String) })
    expect(await browser.arrive(callback)).toMatchObject({ oauth_error_code: 'invalid_state' })
  })
})
