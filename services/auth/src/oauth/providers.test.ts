import { appUrl } from '@parley/test/browser'
import { afterAll, describe, expect, test } from 'vitest'
import { json, startGithub, startProvider } from './provider-servers.testing.ts'
import { type PresetId, type Presets, presets } from './providers.ts'
import { running } from './running.testing.ts'

const credentials = (id: string) => ({
  clientId: `${id}-client`,
  clientSecret: `${id}-secret`,
  redirectUri: `${appUrl}/auth/oauth/${id}/callback`,
})

const github = await startGithub(credentials('github'))
const outside = await startProvider()
afterAll(() => Promise.all([github.close(), outside.close()]))

const at =
  (id: PresetId, authorize: string, token: string, profile: string): Presets[PresetId] =>
  (options) => ({
    ...presets[id](options),
    authorizationUrl: authorize,
    tokenUrl: token,
    userInfoUrl: profile,
  })
const elsewhere = (id: PresetId) => at(id, `${outside.url}/authorize`, `${outside.url}/token`, `${outside.url}/profile`)

const replaced: Presets = {
  google: elsewhere('google'),
  microsoft: elsewhere('microsoft'),
  gitlab: elsewhere('gitlab'),
  github: at(
    'github',
    `${github.url}/login/oauth/authorize`,
    `${github.url}/login/oauth/access_token`,
    `${github.url}/user`,
  ),
}
const all = {
  google: credentials('google'),
  microsoft: credentials('microsoft'),
  github: credentials('github'),
  gitlab: credentials('gitlab'),
}
const options = { presets: replaced }
const server = running({ auth: { isInviteRequired: false }, oauth: { presets: all } }, options)

/** The address and name that the server derived from the provider's answer, or the code of the failure. */
async function comesIn(id: PresetId, at = server) {
  const { access_token, oauth_error_code } = await at.browser().arrive(`${appUrl}/auth/oauth/${id}`)
  if (oauth_error_code) return oauth_error_code
  const { user } = await at.whoIs(access_token)
  return `${user!.userName} <${user!.email}>`
}

describe('GitHub', () => {
  const primary = { email: 'Octo@example.com', primary: true, verified: true, visibility: 'private' as const }
  const hidden = { ...primary, email: '1+octocat@users.noreply.github.com', primary: false, visibility: null }

  test.each([
    ['whose address is hidden', 'The Octocat', [hidden, primary], 'The Octocat <octo@example.com>'],
    ['without a name', null, [{ ...primary, email: 'cat@example.com' }], 'octocat <cat@example.com>'],
    [
      'whose primary address is not verified',
      'Second',
      [
        { ...primary, email: 'unverified@example.com', verified: false },
        { ...primary, email: 'second@example.com', primary: false },
      ],
      'Second <second@example.com>',
    ],
    ['without a verified address', null, [{ ...primary, verified: false }], 'no_verified_email'],
    ['who can only be reached through GitHub', null, [hidden], 'no_verified_email'],
    ['without any address', null, [], 'no_verified_email'],
  ])('somebody %s', async (_, name, emails, outcome) => {
    github.signedIn.user = { login: 'octocat', name, emails }
    expect(await comesIn('github')).toBe(outcome)
  })

  test('a code that GitHub does not take is a failure, though it answers 200', async () => {
    const browser = server.browser()
    const back = new URL(await browser.reach(`${appUrl}/auth/oauth/github`, /\/callback$/))
    back.searchParams.set('code', 'another')
    expect(await browser.arrive(back.href)).toMatchObject({ oauth_error_code: 'provider_refused' })
  })
})

describe('Google', () => {
  test.each([
    ['verified', { email_verified: true }, 'gina <gina@example.com>'],
    ['verified, as text', { email_verified: 'true' }, 'gina <gina@example.com>'],
    ['unverified', { email_verified: false }, 'no_verified_email'],
    ['not said to be verified', {}, 'no_verified_email'],
  ])('an address that is %s', async (_, claims, outcome) => {
    outside.answers['/profile'] = json({ sub: '1', email: 'gina@example.com', name: 'gina', ...claims })
    expect(await comesIn('google')).toBe(outcome)
  })
})

describe('GitLab', () => {
  test.each([
    ['confirmed', '2020-01-01T00:00:00Z', 'Lab <lab@example.com>'],
    ['never confirmed', null, 'no_verified_email'],
    ['not said to be confirmed', undefined, 'no_verified_email'],
  ])('an account that is %s', async (_, confirmed_at, outcome) => {
    outside.answers['/profile'] = json({ id: 1, username: 'lab', name: 'Lab', email: 'lab@example.com', confirmed_at })
    expect(await comesIn('gitlab')).toBe(outcome)
  })
})

describe('Microsoft', () => {
  const tenants = Object.fromEntries(
    ['contoso.example', 'organizations', 'Common'].map((tenant) => [
      tenant,
      running(
        { auth: { isInviteRequired: false }, oauth: { presets: { microsoft: { ...all.microsoft, tenant } } } },
        options,
      ),
    ]),
  )

  test.each([
    [undefined, { xms_edov: true }, 'Mia <mia@example.com>'],
    [undefined, { xms_edov: '1' }, 'Mia <mia@example.com>'],
    [undefined, { xms_edov: false }, 'no_verified_email'],
    [undefined, {}, 'no_verified_email'],
    ['organizations', {}, 'no_verified_email'],
    ['Common', {}, 'no_verified_email'],
    ['contoso.example', {}, 'Mia <mia@example.com>'],
    ['contoso.example', { xms_edov: 0 }, 'no_verified_email'],
  ])('people of %s with %o', async (tenant, claims, outcome) => {
    const idClaims = { email: 'mia@example.com', name: 'Mia', ...claims }
    const id_token = ['e30', Buffer.from(JSON.stringify(idClaims)).toString('base64url'), 'sig'].join('.')
    outside.answers['/token'] = json({ access_token: 'graph', token_type: 'Bearer', id_token })
    outside.answers['/profile'] = json({ sub: '1', email: 'somebody.else@example.com', email_verified: true })
    expect(await comesIn('microsoft', tenant === undefined ? server : tenants[tenant])).toBe(outcome)
  })
})

test('presets have https addresses of the providers themselves', () => {
  for (const [id, preset] of Object.entries(presets)) {
    const { authorizationUrl, tokenUrl, userInfoUrl } = preset({ ...credentials(id), tenant: 'a/../b' })
    for (const url of [authorizationUrl, tokenUrl, userInfoUrl]) expect(url).toMatch(/^https:\/\/[\w.]+\/[\w./%-]+$/)
  }
  expect(presets.microsoft(credentials('microsoft')).tokenUrl).toBe(
    'https://login.microsoftonline.com/common/oauth2/v2.0/token',
  )
})
