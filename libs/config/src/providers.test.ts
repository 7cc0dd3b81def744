import { describe, expect, test } from 'vitest'
import { faultsOf, folder, load } from './load.testing.ts'

const keysOf = async (env: Record<string, string>) => (await faultsOf({ env })).map(({ key }) => key)
const chat = { PARLEY_AUTH_APP_URL: 'https://chat.example.com' }

describe('a provider with an issuer', () => {
  const provider = { id: 'corp', name: 'Corp', issuer: 'https://id.example', clientId: 'c', clientSecret: 's' }
  const custom = (...providers: unknown[]) => ({ ...chat, PARLEY_OAUTH_CUSTOM: JSON.stringify(providers) })

  test('needs no addresses, and may set the names of its claims', async () => {
    const more = {
      claims: { groups: 'memberOf' },
      adminRoles: ['admin'],
      allowedDomains: ['example.com'],
      trustEmail: true,
    }
    const { oauth } = await load({ env: custom({ ...provider, ...more }) })
    expect(oauth.custom[0]).toEqual({
      ...provider,
      ...more,
      scopes: ['openid', 'email', 'profile'],
      redirectUri: 'https://chat.example.com/auth/oauth/corp/callback',
    })
  })

  test.each([
    ['an issuer that is not https', { issuer: 'http://id.example' }, 'issuer'],
    ['an issuer with a query', { issuer: 'https://id.example/?tenant=a' }, 'issuer'],
    ['an address beside it', { tokenUrl: 'https://id.example/token' }, 'tokenUrl'],
    ['an unknown claim', { claims: { mail: 'mail' } }, 'claims.mail'],
    ['roles that are no list', { adminRoles: 'admin' }, 'adminRoles'],
  ])('%s is a fault', async (_, change, key) => {
    expect(await keysOf(custom({ ...provider, ...change }))).toEqual([`oauth.custom[0].${key}`])
  })

  test('settings of a directory need an issuer', async () => {
    const addresses = { authorizationUrl: 'https://id/a', tokenUrl: 'https://id/t', userInfoUrl: 'https://id/u' }
    const env = custom({ ...provider, issuer: undefined, ...addresses, adminRoles: ['admin'] })
    expect(await keysOf(env)).toEqual(['oauth.custom[0].adminRoles'])
  })

  test('may have its secret in a file', async () => {
    const cwd = await folder({ secret: 'from a file\n' })
    const { clientSecret: _, ...rest } = provider
    const entry = (clientSecret_FILE: string) => custom({ ...rest, clientSecret_FILE })
    expect((await load({ cwd, env: entry('secret') })).oauth.custom[0]!.clientSecret).toBe('from a file')
    expect(await faultsOf({ cwd, env: entry('missing') })).toEqual([
      { key: 'oauth.custom[0].clientSecret', message: 'clientSecret_FILE names a file that cannot be read (ENOENT)' },
    ])
  })
})

describe('a SAML provider', () => {
  const body =
    'MIIBgzCCASmgAwIBAgIUZkVqhILUep1FUX2IaGn2ZlLrP04wCgYIKoZIzj0EAwIwFjEUMBIGA1UEAwwLaWRwLmV4YW1wbGUw' +
    'IBcNMjYxMTIyMjI1NDUyWhgPMjEyNjEwMjkyMjU0NTJaMBYxFDASBgNVBAMMC2lkcC5leGFtcGxlMFkwEwYHKoZIzj0CAQYI' +
    'KoZIzj0DAQcDQgAEo5pAYIhkjQAkKEmFqB00HKn1Yx93gc8lDdNetCBuVtVhOc/PwinCDL8Dtnn+q0Ozfj9s7cmYFje1W7rY' +
    'y+HPF6NTMFEwHQYDVR0OBBYEFJNfZjQJOeeN5HmTTUCsgVWCk9x7MB8GA1UdIwQYMBaAFJNfZjQJOeeN5HmTTUCsgVWCk9x7' +
    'MA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDSAAwRQIgOp99lnKQIbx18bKClLlehZGuCu+dgBCWbce2Ayz1wyICIQCy' +
    'CgWYGaICJRK70qxHeWy6hOe1tTjq4TS7Enx0w/5zEA=='
  const pem = `-----BEGIN CERTIFICATE-----\n${body.replaceAll(/(.{64})/g, '$1\n')}\n-----END CERTIFICATE-----\n`
  const service = (binding: string, location: string) =>
    `<md:SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:${binding}" Location="${location}"/>`
  const key = (use: string, certificate: string) =>
    `<md:KeyDescriptor use="${use}"><ds:KeyInfo xmlns:ds="http://www.w3.org/2000/09/xmldsig#"><ds:X509Data>
      <ds:X509Certificate>${certificate}</ds:X509Certificate></ds:X509Data></ds:KeyInfo></md:KeyDescriptor>`
  const metadataOf = (inside: string) =>
    `<?xml version="1.0"?><md:EntityDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata" entityID="https://idp.example">
      <md:IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol">${inside}</md:IDPSSODescriptor>
    </md:EntityDescriptor>`
  const redirect = service('HTTP-Redirect', 'https://idp.example/sso')
  const metadata = metadataOf(service('HTTP-POST', 'https://idp.example/post') + key('signing', body) + redirect)
  const saml = (...providers: unknown[]) => ({ ...chat, PARLEY_SAML: JSON.stringify(providers) })
  const named = { id: 'corp', name: 'Corp' }

  test('is described by its metadata, inline or in a file', async () => {
    const cwd = await folder({ 'idp.xml': metadata })
    for (const entry of [{ metadata }, { metadata_FILE: 'idp.xml' }]) {
      const config = await load({ cwd, env: saml({ ...named, ...entry }) })
      expect(config.saml[0]).toEqual({
        ...named,
        metadata,
        entryPoint: 'https://idp.example/sso',
        certificates: [pem],
        idpIssuer: 'https://idp.example',
        entityId: 'https://chat.example.com/auth/saml/corp/metadata',
      })
    }
  })

  test('may be described by hand', async () => {
    const entry = {
      ...named,
      entryPoint: 'https://idp.example/sso',
      certificates: [pem],
      idpIssuer: 'https://idp.example',
    }
    expect((await load({ env: saml({ ...entry, entityId: 'chat' }) })).saml).toEqual([{ ...entry, entityId: 'chat' }])
    expect(await keysOf(saml(named))).toEqual(
      ['entryPoint', 'certificates', 'idpIssuer'].map((name) => `saml[0].${name}`),
    )
    expect(await keysOf(saml({ ...entry, certificates: ['no certificate'] }))).toEqual(['saml[0].certificates'])
    expect(await keysOf(saml({ ...entry, entryPoint: 'http://idp.example/sso' }))).toEqual(['saml[0].entryPoint'])
  })

  test.each([
    ['is no XML', 'metadata'],
    ['has a document type', metadata.replace('?>', '?><!DOCTYPE md [<!ENTITY a "b">]>')],
    ['has no address for HTTP-Redirect', metadata.replace(redirect, '')],
    ['has no certificate', metadataOf(redirect)],
    ['has a certificate for encryption alone', metadataOf(redirect + key('encryption', body))],
    ['has a broken certificate', metadataOf(redirect + key('signing', 'AAAA'))],
  ])('metadata that %s is one fault', async (_, faulty) => {
    expect(await keysOf(saml({ ...named, metadata: faulty }))).toEqual(['saml[0].metadata'])
  })

  test('has an id that no other provider has', async () => {
    const preset = { PARLEY_OAUTH_PRESETS_GITHUB_CLIENT_ID: 'i', PARLEY_OAUTH_PRESETS_GITHUB_CLIENT_SECRET: 's' }
    expect(await keysOf({ ...saml({ ...named, id: 'github', metadata }), ...preset })).toEqual(['saml[0].id'])
  })
})
