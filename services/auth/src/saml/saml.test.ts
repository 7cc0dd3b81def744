import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { appUrl } from '@parley/test/browser'
import { createIdentityProvider, type Said, type Signing } from '@parley/test/identity-provider'
import { describe, expect, test } from 'vitest'
import { addPerson, running } from '../oauth/running.testing.ts'

const idp = createIdentityProvider()
const claims = { groups: 'memberOf' }
const saml = [{ ...idp.entry, claims, adminRoles: ['chat-admin'], allowedDomains: ['example.com'] }]
const server = running({ auth: { isInviteRequired: false }, saml })

/** A complete sign-in. Returns who signed in, or the code of the failure. */
async function arrive(said: Partial<Said> = {}, signing: Signing = {}) {
  const browser = server.browser()
  const { location } = await idp.post(browser, server.baseUrl, idp.respond(await idp.begin(browser), said, signing))
  const { access_token, oauth_error_code } = Object.fromEntries(new URL(location!).searchParams)
  return oauth_error_code ?? (await server.whoIs(access_token)).user
}

test('the provider is listed among the others', async () => {
  const { body } = await server.nobody.get('/auth/oauth/providers')
  expect(body).toEqual({ providers: [{ id: 'corp', name: 'Our directory', loginUrl: '/auth/saml/corp' }], count: 1 })
})

test('the metadata names the audience and the address for responses, and wants signed assertions', async () => {
  const response = await fetch(`${server.baseUrl}/auth/saml/corp/metadata`)
  expect(response.headers.get('content-type')).toContain('application/samlmetadata+xml')
  const xml = await response.text()
  expect(xml).toContain(`entityID="${appUrl}/auth/saml/corp/metadata"`)
  expect(xml).toContain(`Location="${appUrl}/auth/saml/corp/acs"`)
  expect(xml).toContain('WantAssertionsSigned="true"')
})

test('a sign-in leads to the provider with a request, and sets a cookie that no script reads', async () => {
  const { status, location, headers } = await server.browser().visit(`${appUrl}/auth/saml/corp`)
  expect([status, new URL(location!).origin]).toEqual([302, 'https://idp.example.com'])
  const { xml, id } = idp.readRequest(location!)
  expect(id).toMatch(/^_[\w-]{43}$/)
  expect(xml).toContain(`AssertionConsumerServiceURL="${appUrl}/auth/saml/corp/acs"`)
  expect(headers.get('set-cookie')).toMatch(/^parley_saml_[\w-]{8}=[\w-]{43}; Max-Age=600; Path=\/; HttpOnly$/)
})

test.each(['assertion', 'both'] as const)('a new person signs in with a response whose %s is signed', async (sign) => {
  const attributes = { mail: `${sign}@Example.com`, uid: `${sign}-uid`, displayName: 'Ann of SAML' }
  expect(await arrive({ nameId: sign, attributes }, { sign })).toMatchObject({
    email: `${sign}@example.com`,
    userName: `${sign}-uid`,
    displayName: 'Ann of SAML',
  })
})

test('a browser at another name of this machine is first sent to the host of the callback, where its cookies are', async () => {
  const request = get(`${server.baseUrl}/auth/saml/corp?session=cookie`, { headers: { host: 'localhost' } })
  const [{ statusCode, headers }] = (await once(request, 'response')) as [IncomingMessage]
  expect([statusCode, headers.location]).toEqual([302, `${appUrl}/auth/saml/corp?session=cookie`])
})

test('a known person is found once by address, and then by the NameID', async () => {
  const id = await addPerson(server, 'known')
  expect(await arrive({ nameId: 'k1', attributes: { email: 'known@example.com' } })).toMatchObject({ id })
  expect(await arrive({ nameId: 'k1', attributes: { email: 'other@example.com' } })).toMatchObject({ id })
  expect(await arrive({ nameId: 'k2', attributes: { email: 'known@example.com' } })).toBe('already_linked')
})

test('a NameID that is an address is used as the address, and a transient one is refused', async () => {
  const format = (kind: string) => `urn:oasis:names:tc:SAML:${kind}`
  const named = { nameId: 'named@example.com', attributes: {} }
  expect(await arrive({ ...named, format: format('1.1:nameid-format:emailAddress') })).toMatchObject({
    email: 'named@example.com',
  })
  expect(await arrive({ ...named, format: format('1.1:nameid-format:unspecified'), nameId: 'x@example.com' })).toBe(
    'domain_not_allowed',
  )
  expect(await arrive({ nameId: 'once', format: format('2.0:nameid-format:transient') })).toBe('provider_unavailable')
})

test('roles and domains count as with OpenID Connect', async () => {
  const attributes = { email: 'boss@example.com', roles: ['user', 'chat-admin'] }
  expect(await arrive({ nameId: 'boss', attributes })).toMatchObject({ isAdmin: true })
  expect(await arrive({ nameId: 'out', attributes: { email: 'out@example.org' } })).toBe('domain_not_allowed')
})

test('values may be in attributes of their own, and an attribute without values is an empty list', async () => {
  const sent = async (attributes: Said['attributes']) => {
    const user = await arrive({ nameId: 'chief', attributes: { email: 'chief@example.com', ...attributes } })
    const { id, isAdmin } = user as { id: string; isAdmin: boolean }
    const groups = await server.deps.db
      .selectFrom('groupMembers')
      .innerJoin('groups', 'groups.id', 'groupMembers.groupId')
      .select('groups.name')
      .where('groupMembers.userId', '=', id)
      .orderBy('groups.name')
      .execute()
    return { isAdmin, groups: groups.map(({ name }) => name) }
  }
  const roles = [['chat-admin'], ['offline_access']]
  expect(await sent({ Role: roles, memberOf: [['North'], ['South', 'West']] })).toEqual({
    isAdmin: true,
    groups: ['North', 'South', 'West'],
  })
  expect(await sent({ Role: roles })).toMatchObject({ groups: ['North', 'South', 'West'] })
  expect(await sent({ Role: [[]], memberOf: [[]] })).toEqual({ isAdmin: false, groups: [] })
})

test('the language of mails is that of the attribute', async () => {
  const attributes = { email: 'speaks@example.com', preferredLanguage: 'ar-EG' }
  const { id } = (await arrive({ nameId: 'speaks', attributes })) as { id: string }
  const user = await server.deps.db.selectFrom('users').select('language').where('id', '=', id).executeTakeFirst()
  expect(user).toEqual({ language: 'ar' })
})

test('several addresses are none, and one that is written twice is one', async () => {
  const email = [['first@example.com'], ['known@example.com']]
  expect(await arrive({ nameId: 'several', attributes: { email } })).toBe('domain_not_allowed')
  const twice = [['twice@example.com'], ['twice@example.com']]
  expect(await arrive({ nameId: 'twice', attributes: { email: twice } })).toMatchObject({ email: 'twice@example.com' })
})

describe('the end of the session at the provider (SessionNotOnOrAfter)', () => {
  const hours = 3_600_000
  const ends = { nameId: 'ends', attributes: { email: 'ends@example.com' } }
  async function signIn(sessionEnds: Said['sessionEnds']) {
    const browser = server.browser()
    const requestId = await idp.begin(browser)
    const { location } = await idp.post(browser, server.baseUrl, idp.respond(requestId, { ...ends, sessionEnds }))
    return Object.fromEntries(new URL(location!).searchParams)
  }
  const refresh = (refreshToken: string | undefined) => server.nobody.post('/auth/refresh', { refreshToken })
  async function sessionOf(token: string | undefined) {
    const { body } = await server.nobody.get('/auth/sessions', { authorization: `Bearer ${token}` })
    return body.sessions.find(({ isCurrent }: { isCurrent: boolean }) => isCurrent)
  }

  test('ends the session here too, however often it is refreshed', async () => {
    const end = Date.now() + 8 * hours
    const first = await signIn([end + hours, end, null])
    expect(await sessionOf(first.access_token)).toMatchObject({ expiresAt: end })
    server.pass(7 * hours)
    const { status, body } = await refresh(first.refresh_token)
    expect(status).toBe(200)
    expect(await sessionOf(body.accessToken)).toMatchObject({ expiresAt: end })
    server.pass(hours)
    expect([(await server.whoIs(body.accessToken)).status, (await refresh(body.refreshToken)).status]).toEqual([
      401, 401,
    ])
    server.pass(-8 * hours)
  })

  test('that is later than the other limits changes nothing', async () => {
    const { access_token } = await signIn([Date.now() + 10_000 * hours])
    const { createdAt, expiresAt } = await sessionOf(access_token)
    expect(expiresAt).toBe(createdAt + server.deps.config.auth.refreshTokenExpirySeconds * 1000)
  })

  test.each([
    ['is over', Date.now() - 1],
    ['is no time', 'tomorrow'],
    ['is empty', ''],
  ])('that %s is refused', async (_, end) => {
    expect(await signIn([Date.now() + hours, end])).toMatchObject({ oauth_error_code: 'provider_unavailable' })
    expect(server.logged.join('\n')).toContain('the session at the provider has ended')
  })
})

test('with session=cookie the browser comes back with only the session cookie', async () => {
  const browser = server.browser()
  const requestId = await idp.begin(browser, '?session=cookie')
  const { status, location, headers } = await idp.post(
    browser,
    server.baseUrl,
    idp.respond(requestId, { nameId: 'cookie' }),
  )
  expect([status, location]).toEqual([
    302,
    `${appUrl}/?${new URLSearchParams(new URL(location!).search)}`.replace(/\?$/, ''),
  ])
  const set = headers.getSetCookie().find((line) => line.startsWith('parley_session='))
  expect(set ?? location).toMatch(/; Path=\/auth; HttpOnly; SameSite=Strict$/)
})

describe('behind https', () => {
  const entityId = 'https://chat.example.com/auth/saml/corp/metadata'
  const https = running({ auth: { appUrl: 'https://chat.example.com' }, saml: [{ ...idp.entry, entityId }] })

  test('the browser sends the cookie when the provider posts, and no neighbouring domain can set it', async () => {
    const { headers } = await https.browser().visit(`${appUrl}/auth/saml/corp`)
    expect(headers.get('set-cookie')).toMatch(/^__Host-parley_saml_.*; Path=\/; HttpOnly; Secure; SameSite=None$/)
  })
})

test.each([
  ['GET', '/auth/saml/nobody', 404],
  ['POST', '/auth/saml/nobody/acs', 404],
  ['GET', '/auth/saml/nobody/metadata', 404],
])('%s %s is 404', async (method, path, status) => {
  const body = method === 'POST' ? new URLSearchParams({ SAMLResponse: 'AAAA' }) : null
  expect((await fetch(server.baseUrl + path, { method, body, redirect: 'manual' })).status).toBe(status)
})
