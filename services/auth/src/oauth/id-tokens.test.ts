import { appUrl } from '@parley/test/browser'
import { base64url, exportSPKI, importJWK, SignJWT } from 'jose'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { createKey, discovered, openidProvider, signWith, startIssuer } from './issuer.testing.ts'
import { json } from './provider-servers.testing.ts'
import { running } from './running.testing.ts'

const issuer = await startIssuer()
const other = await startIssuer()
afterAll(() => Promise.all([issuer.close(), other.close()]))

const custom = [openidProvider('corp', issuer.url)]
const server = running({ auth: { isInviteRequired: false }, oauth: { custom } })
const arrive = (at = server) => at.browser().arrive(`${appUrl}/auth/oauth/corp`)
const success = { access_token: expect.any(String), refresh_token: expect.any(String), expires_in: '900' }
const refusal = { oauth_error: expect.any(String), oauth_error_code: 'provider_unavailable' }
const seconds = () => Math.floor(Date.now() / 1000)

beforeEach(() => {
  Object.assign(issuer, {
    claims: { email: 'ann@example.com', email_verified: true },
    userInfo: {},
    sign: signWith(issuer.key),
    published: [issuer.key.publicJwk],
  })
  issuer.answers['/.well-known/openid-configuration'] = json(discovered(issuer.url))
})

test('a good id token signs in', async () => {
  expect(await arrive()).toEqual(success)
})

describe('an id token is refused', () => {
  test.each([
    ['of another issuer', () => ({ iss: other.url })],
    ['without an issuer', () => ({ iss: undefined })],
    ['for somebody else', () => ({ aud: 'another-client' })],
    ['for nobody', () => ({ aud: [] })],
    ['for several without saying who asked', () => ({ aud: ['a-client', 'another-client'] })],
    ['that another client asked for', () => ({ aud: ['a-client', 'another-client'], azp: 'another-client' })],
    ['with one audience that another client asked for', () => ({ azp: 'another-client' })],
    ['that has expired', () => ({ exp: seconds() - 120 })],
    ['that never expires', () => ({ exp: undefined })],
    ['that is not valid yet', () => ({ nbf: seconds() + 600 })],
    ['of another sign-in', () => ({ nonce: 'another-nonce' })],
    ['of no sign-in', () => ({ nonce: undefined })],
    ['about nobody', () => ({ sub: undefined })],
    ['about nobody with an empty name', () => ({ sub: '' })],
    ['about somebody whose name is too long', () => ({ sub: 'a'.repeat(256) })],
  ])('%s', async (_, claims) => {
    Object.assign(issuer.claims, claims())
    expect(await arrive()).toEqual(refusal)
  })

  test('without a signature', async () => {
    const part = (value: unknown) => base64url.encode(JSON.stringify(value))
    issuer.sign = (claims) => `${part({ alg: 'none' })}.${part(claims)}.`
    expect(await arrive()).toEqual(refusal)
  })

  test('signed with the public key as a shared secret', async () => {
    const { publicJwk } = issuer.key
    const key = (await importJWK(publicJwk, 'RS256')) as CryptoKey
    const secrets = [await exportSPKI(key), JSON.stringify(publicJwk), publicJwk.n!]
    for (const secret of secrets) {
      issuer.sign = (claims) =>
        new SignJWT(claims).setProtectedHeader({ alg: 'HS256', kid: 'first' }).sign(new TextEncoder().encode(secret))
      expect(await arrive()).toEqual(refusal)
    }
  })

  test('signed with the client secret', async () => {
    issuer.sign = (claims) =>
      new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(new TextEncoder().encode('a-client-secret'))
    expect(await arrive()).toEqual(refusal)
  })

  test('signed with a key that the token itself carries', async () => {
    const mine = await createKey('first')
    const { kid: _, ...jwk } = mine.publicJwk
    issuer.sign = (claims) =>
      new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: 'first', jwk }).sign(mine.privateKey)
    expect(await arrive()).toEqual(refusal)
  })

  test('changed after it was signed', async () => {
    issuer.sign = async (claims) => {
      const [header, , signature] = (await signWith(issuer.key)(claims)).split('.')
      return [header, base64url.encode(JSON.stringify({ ...claims, sub: 'boss' })), signature].join('.')
    }
    expect(await arrive()).toEqual(refusal)
  })

  test('when there is none at all', async () => {
    issuer.sign = () => undefined as unknown as string
    expect(await arrive()).toEqual(refusal)
  })
})

test('failures are logged without tokens and addresses', async () => {
  issuer.claims.aud = 'another-client'
  server.logged.length = 0
  await arrive()
  const log = server.logged.join('\n')
  expect(log).toContain('a sign-in through a provider failed')
  for (const secret of ['an-access-token', 'eyJ', 'a-client-secret', 'ann@example.com'])
    expect(log).not.toContain(secret)
})

describe('the keys', () => {
  const rotating = running({ auth: { isInviteRequired: false }, oauth: { custom } }, { keysCooldownMs: 0 })

  test('a key that the provider has added is fetched', async () => {
    expect(await arrive(rotating)).toEqual(success)
    const next = await createKey('second', 'ES256')
    issuer.published = [issuer.key.publicJwk, next.publicJwk]
    issuer.sign = signWith(next)
    expect(await arrive(rotating)).toEqual(success)
  })

  test('a key that the provider withdrew is refused once the keys were fetched again', async () => {
    const next = await createKey('third')
    issuer.published = [next.publicJwk]
    issuer.sign = signWith(next)
    expect(await arrive(rotating)).toEqual(success)
    issuer.sign = signWith(issuer.key)
    expect(await arrive(rotating)).toEqual(refusal)
  })

  test('unknown keys make the server fetch them once in a while, not for every token', async () => {
    expect(await arrive()).toEqual(success)
    const before = issuer.keysFetched()
    issuer.sign = signWith(await createKey('stranger'))
    for (let times = 0; times < 3; times++) expect(await arrive()).toEqual(refusal)
    expect(issuer.keysFetched() - before).toBeLessThanOrEqual(1)
  })
})

describe('user info', () => {
  test('adds the claims that the id token lacks', async () => {
    issuer.claims = { sub: 'from-user-info' }
    issuer.userInfo = { sub: 'from-user-info', email: 'info@example.com', email_verified: true, name: 'Info Rmed' }
    const { access_token } = await arrive()
    expect((await server.whoIs(access_token)).user).toMatchObject({
      email: 'info@example.com',
      displayName: 'Info Rmed',
    })
  })

  test('about somebody else is refused', async () => {
    issuer.claims = { sub: 'eve' }
    issuer.userInfo = { sub: 'boss', email: 'boss@example.com', email_verified: true }
    expect(await arrive()).toEqual(refusal)
  })

  test('does not verify the address of the id token', async () => {
    issuer.claims = { sub: 'mixed', email: 'boss@example.com' }
    issuer.userInfo = { sub: 'mixed', email: 'mixed@example.com', email_verified: true }
    expect(await arrive()).toMatchObject({ oauth_error_code: 'no_verified_email' })
  })
})

describe('discovery', () => {
  // Each test has its own server, because a server remembers the discovery document of a provider.
  const found = (name: string, document: () => Record<string, unknown>, answer = json) => {
    const fresh = running({ auth: { isInviteRequired: false }, oauth: { custom } })
    test(`${name} sends the browser back with a failure`, async () => {
      issuer.answers['/.well-known/openid-configuration'] = answer(document())
      expect(await arrive(fresh)).toEqual(refusal)
      // The server does not remember an invalid document.
      issuer.answers['/.well-known/openid-configuration'] = json(discovered(issuer.url))
      expect(await arrive(fresh)).toEqual(success)
    })
  }

  found('of another issuer', () => ({ ...discovered(issuer.url), issuer: other.url }))
  found('without keys', () => ({ ...discovered(issuer.url), jwks_uri: undefined }))
  found('with shared secrets alone', () => ({
    ...discovered(issuer.url),
    id_token_signing_alg_values_supported: ['HS256', 'none'],
  }))
  found(
    'that leads elsewhere',
    () => ({}),
    () => (_, response) => response.writeHead(302, { location: `${other.url}/.well-known/openid-configuration` }).end(),
  )
  found('without end', () => ({ ...discovered(issuer.url), padding: 'a'.repeat(300_000) }))
})
