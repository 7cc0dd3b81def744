import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { appUrl } from '@parley/test/browser'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { type Answer, customProvider, json, startProvider } from './provider-servers.testing.ts'
import { running } from './running.testing.ts'

const provider = await startProvider()
const usual = { ...provider.answers }
afterAll(() => provider.close())
beforeEach(() => {
  provider.answers = { ...usual, '/elsewhere': json({ access_token: 'from-elsewhere', email: 'else@example.com' }) }
})

const nowhere = 'http://127.0.0.1:1'
const custom = [
  customProvider('acme', provider.url),
  { ...customProvider('deaf', provider.url), tokenUrl: `${nowhere}/token` },
  { ...customProvider('header', provider.url), clientSecret: 'a:secret %&' },
  { ...customProvider('mute', provider.url), userInfoUrl: `${nowhere}/profile` },
]
const failure = (code: string) => ({ oauth_error: expect.any(String), oauth_error_code: code })
const say =
  (body: string, type = 'application/json', status = 200): Answer =>
  (_, response) =>
    response.writeHead(status, { 'content-type': type }).end(body)
const lead: Answer = (_, response) => response.writeHead(302, { location: `${provider.url}/elsewhere` }).end()
const hangUp: Answer = (_, response) => response.destroy()
const hangUpHalfway: Answer = (_, response) => {
  response.writeHead(200, { 'content-type': 'application/json' })
  response.write('{"access_token":', () => response.destroy())
}

describe('a provider that misbehaves', () => {
  const server = running({ auth: { isInviteRequired: false }, oauth: { custom } })
  const arrive = (id = 'acme') => server.browser().arrive(`${appUrl}/auth/oauth/${id}`)

  test.each(['deaf', 'mute'])('is down: %s', async (id) => {
    expect(await arrive(id)).toEqual(failure('provider_unavailable'))
  })

  const nonsense: [string, Answer, string][] = [
    ['an error', json({ error: 'server_error' }, 500), 'provider_unavailable'],
    ['a page', say('<html>Hello', 'text/html'), 'provider_unavailable'],
    ['nothing', say(''), 'provider_unavailable'],
    ['a list', json([1]), 'provider_unavailable'],
    ['null', json(null), 'provider_unavailable'],
    ['half of an answer', hangUpHalfway, 'provider_unavailable'],
    ['no answer', hangUp, 'provider_unavailable'],
    ['a redirect', lead, 'provider_unavailable'],
    ['bytes that are no text', (_, response) => response.end(Buffer.from([0xff, 0xfe, 0x00])), 'provider_unavailable'],
  ]

  test.each<[string, Answer, string]>([
    ...nonsense,
    ['a refusal', json({ error: 'invalid_grant' }, 400), 'provider_refused'],
    ['a refusal of our credentials', json({ error: 'invalid_client' }, 401), 'provider_refused'],
    ['no token', json({ token_type: 'Bearer' }), 'provider_unavailable'],
    ['a token that is no text', json({ access_token: { a: 1 } }), 'provider_unavailable'],
    ['a token that splits a header', json({ access_token: 'a\r\nX-Evil: 1' }), 'provider_unavailable'],
  ])('answers a code with %s', async (_, answer, code) => {
    provider.answers['/token'] = answer
    expect(await arrive()).toEqual(failure(code))
  })

  test.each<[string, Answer, string]>([
    ...nonsense,
    ['a refusal', json({ error: 'invalid_token' }, 401), 'provider_unavailable'],
    ['no address', json({ sub: '1' }), 'no_verified_email'],
    ['an address that is none', json({ email: 'a\0@b' }), 'unusable_email'],
    ['an address with two dots', json({ email: 'a@example..com' }), 'unusable_email'],
  ])('answers the profile with %s', async (_, answer, code) => {
    provider.answers['/profile'] = answer
    expect(await arrive()).toEqual(failure(code))
  })

  test.each(['/token', '/profile'])('answers %s without end: the response is cut off', async (path) => {
    let flood: ServerResponse | undefined
    let poured = 0
    let isOver: Promise<unknown> | undefined
    provider.answers[path] = (_, response) => {
      flood = response
      isOver = once(response, 'close')
      response.writeHead(200, { 'content-type': 'application/json' })
      const pour = () => {
        do poured += 65_536
        while (!response.destroyed && response.write(' '.repeat(65_536)))
      }
      response.on('drain', pour).on('error', () => {})
      pour()
    }
    expect(await arrive()).toEqual(failure('provider_unavailable'))
    await isOver
    expect(flood!.writableFinished).toBe(false)
    expect(server.logged.at(-1)).toContain('the answer is too long')
    // The limit, and the buffers of the sockets.
    expect(poured).toBeLessThan(33_554_432)
  })

  test.each([
    ['strange names', { name: '\u202Eevil\0\uD800', email: 'strange@example.com' }],
    ['an endless name', { name: 'n'.repeat(100_000), email: 'endless@example.com' }],
    ['a name that is no text', { name: { first: 'A' }, email: 'object@example.com' }],
    ['an invisible name', { name: '\u200B', email: 'invisible@example.com' }],
  ])('answers the profile with %s: the person gets a valid name', async (_, profile) => {
    provider.answers['/profile'] = json(profile)
    const { access_token } = await arrive()
    const { user } = await server.whoIs(access_token)
    expect(user!.userName).toMatch(/^[a-z]{1,64}$/)
  })

  test('wants the credentials in the header: it gets them there, encoded', async () => {
    provider.answers['/token'] = (asked, response) => {
      const given = Buffer.from(asked.headers.authorization?.slice('Basic '.length) ?? '', 'base64').toString()
      const isTwice = asked.form.has('client_secret')
      const isGood = given === 'a-client:a%3Asecret+%25%26' && !isTwice && asked.form.get('code') === 'a-code'
      return (isGood ? usual['/token']! : json({ error: 'invalid_client' }, 401))(asked, response)
    }
    expect(await arrive('header')).toMatchObject({ access_token: expect.any(String) })
  })

  test('nothing secret is logged in any of these cases', async () => {
    const browser = server.browser()
    const back = await browser.reach(`${appUrl}/auth/oauth/acme`, /\/callback$/)
    const cookies = [...browser.cookies.values()]
    const tokens = await browser.arrive(back)
    provider.answers['/token'] = say('provider-access is not JSON')
    await arrive()
    provider.answers['/token'] = json({ access_token: 'provider-access\n' })
    await arrive()
    provider.answers = { ...usual, '/profile': say('{"email": ann@example.com}') }
    await arrive()

    const logged = server.logged.join('\n')
    expect(logged).toContain('a sign-in through a provider failed')
    const secrets = [
      'provider-access',
      'ann@example.com',
      'a-client-secret',
      'a-code',
      new URL(back).searchParams.get('state')!,
      tokens.access_token!,
      tokens.refresh_token!,
      ...cookies,
    ]
    expect(secrets.filter((secret) => logged.includes(secret))).toEqual([])
  })
})

describe('a provider that is slow', () => {
  const server = running({ auth: { isInviteRequired: false }, oauth: { custom } }, { timeoutMs: 400 })
  const arrive = () => server.browser().arrive(`${appUrl}/auth/oauth/acme`)
  const silent: Answer = () => {}
  const dripping: Answer = (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    const drip = setInterval(() => response.write(' '), 50)
    response.on('close', () => clearInterval(drip))
  }

  test.each([
    ['does not answer a code', '/token', silent],
    ['does not answer the profile', '/profile', silent],
    ['answers a code drop by drop', '/token', dripping],
    ['answers the profile drop by drop', '/profile', dripping],
  ])('%s', async (_, path, answer) => {
    provider.answers[path] = answer
    expect(await arrive()).toEqual(failure('provider_unavailable'))
  })
})
