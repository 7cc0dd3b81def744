import { appUrl } from '@parley/test/browser'
import { createCertifiedKey } from '@parley/test/certificates'
import { createIdentityProvider } from '@parley/test/identity-provider'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { discovered, openidProvider, startIssuer } from '../oauth/issuer.testing.ts'
import { customProvider, json } from '../oauth/provider-servers.testing.ts'
import { running } from '../oauth/running.testing.ts'

const issuer = await startIssuer()
afterAll(() => issuer.close())
const wellKnown = '/.well-known/openid-configuration'
const refusingCode = json({ error: 'invalid_grant' }, 400)

const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().replaceAll(/[-:T]|\.\d+/g, '')
const good = createIdentityProvider('good').entry
const withCertificate = (id: string, ...validities: { from?: string; until?: string }[]) => ({
  ...good,
  id,
  certificates: validities.map((validity) => createCertifiedKey(validity).certificate),
})

const server = running({
  auth: { isInviteRequired: false },
  oauth: {
    custom: [
      openidProvider('openid', issuer.url, { adminRoles: ['chat-admin'] }),
      openidProvider('away', 'http://127.0.0.1:1'),
      customProvider('plain', issuer.url),
    ],
  },
  saml: [
    good,
    withCertificate('expired', { until: inDays(-1) }),
    withCertificate('rolling', { until: inDays(-1) }, { until: inDays(10) }),
    withCertificate('early', { from: inDays(2) }),
  ],
})

let admin: { authorization: string }
let member: { authorization: string }
async function arrive(sub: string, roles: string[]) {
  Object.assign(issuer, {
    claims: { sub, email: `${sub}@example.com`, email_verified: true, roles },
    userInfo: { sub },
  })
  const { access_token } = await server.browser().arrive(`${appUrl}/auth/oauth/openid`)
  return { authorization: `Bearer ${access_token}` }
}
beforeAll(async () => {
  admin = await arrive('ada', ['chat-admin'])
  member = await arrive('mia', [])
})
beforeEach(() => {
  issuer.answers[wellKnown] = json(discovered(issuer.url))
  issuer.answers['/token'] = refusingCode
  issuer.published = [issuer.key.publicJwk]
})

const examine = async (id: string) => (await server.nobody.post(`/admin/sso/${id}/test`, {}, admin)).body
const problems = async (id: string) => {
  const { works, findings } = await examine(id)
  const found = findings.filter(({ level }: { level: string }) => level !== 'ok')
  return { works, problems: found.map(({ level, message }: Record<string, string>) => `${level}: ${message}`) }
}

test('the providers are listed with the addresses to configure there, and without secrets', async () => {
  const { status, body } = await server.nobody.get('/admin/sso', admin)
  expect(status).toBe(200)
  expect(body.providers.slice(0, 4)).toMatchObject([
    {
      id: 'openid',
      protocol: 'openid',
      callbackUrl: `${appUrl}/auth/oauth/openid/callback`,
      logoutUrl: `${appUrl}/auth/oauth/openid/backchannel-logout`,
    },
    { id: 'away', protocol: 'openid' },
    { id: 'plain', protocol: 'oauth' },
    { id: 'good', protocol: 'saml', callbackUrl: `${appUrl}/auth/saml/good/acs`, entityId: good.entityId },
  ])
  expect(JSON.stringify(body)).not.toContain('a-client-secret')
})

test('only admins list and test them', async () => {
  expect(await server.nobody.get('/admin/sso', member)).toMatchObject({ status: 403 })
  expect(await server.nobody.post('/admin/sso/openid/test', {}, member)).toMatchObject({ status: 403 })
  expect(await server.nobody.post('/admin/sso/openid/test', {})).toMatchObject({ status: 401 })
  expect(await server.nobody.post('/admin/sso/nobody/test', {}, admin)).toMatchObject({ status: 404 })
})

describe('a test of a provider with an issuer', () => {
  test('finds no problem with a correct one', async () => {
    expect(await problems('openid')).toEqual({ works: true, problems: [] })
  })

  test.each<[string, () => void, RegExp]>([
    ['that is unavailable', () => (issuer.answers[wellKnown] = json({}, 503)), /error: There is no discovery document/],
    [
      'that names another issuer',
      () => (issuer.answers[wellKnown] = json(discovered('https://id.example.com'))),
      /error: The provider calls itself https:\/\/id\.example\.com: write exactly this as issuer/,
    ],
    ['without keys', () => (issuer.published = []), /error: The provider publishes no key for signatures/],
    [
      'that does not know the client',
      () => (issuer.answers['/token'] = json({ error: 'invalid_client' }, 401)),
      /error: The provider refuses the client id or the client secret/,
    ],
    [
      'that is no JSON',
      () =>
        (issuer.answers[wellKnown] = (_, response) =>
          response.writeHead(200, { 'content-type': 'text/html' }).end('<html>')),
      /error: The provider/,
    ],
  ])('names what is wrong with one %s', async (_, change, sentence) => {
    change()
    const { works, problems: found } = await problems('openid')
    expect(works).toBe(false)
    expect(found).toEqual([expect.stringMatching(sentence)])
  })

  test('names the address of one that cannot be reached', async () => {
    const { works, problems: found } = await problems('away')
    expect([works, found]).toEqual([
      false,
      [expect.stringMatching(/error: The provider cannot be reached at http:\/\/127\.0\.0\.1:1/)],
    ])
  })

  test('warns when a logout here does not end the session there', async () => {
    issuer.answers[wellKnown] = json({ ...discovered(issuer.url), end_session_endpoint: undefined })
    expect(await problems('openid')).toEqual({
      works: true,
      problems: [expect.stringContaining('warning: The provider names no address for logging out')],
    })
  })
})

test('a test of a provider without an issuer checks whether it can be reached', async () => {
  expect(await problems('plain')).toEqual({ works: true, problems: [] })
})

describe('a test of a SAML provider', () => {
  test.each([
    ['good', true, []],
    ['expired', false, [expect.stringMatching(/^error: Certificate 1 expired on \d{4}-\d\d-\d\d$/)]],
    ['early', false, [expect.stringMatching(/^error: Certificate 1 is not valid before/)]],
    [
      'rolling',
      true,
      [
        expect.stringMatching(/^warning: Certificate 1 expired/),
        expect.stringMatching(/^warning: Certificate 2 expires on/),
      ],
    ],
  ])('%s', async (id, works, found) => {
    expect(await problems(id)).toEqual({ works, problems: found })
  })
})
