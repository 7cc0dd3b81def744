import { appUrl, type Browser } from '@parley/test/browser'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { customProvider, json, startProvider } from './provider-servers.testing.ts'
import { running } from './running.testing.ts'

const provider = await startProvider()
afterAll(() => provider.close())

const custom = [customProvider('one', provider.url), customProvider('two', provider.url)]
const server = running({ auth: { isInviteRequired: false }, oauth: { custom } })
const start = (id = 'one') => browser.visit(`${appUrl}/auth/oauth/${id}`)
const callback = (query = '?code=a&state=b') => browser.arrive(`${appUrl}/auth/oauth/one/callback${query}`)
const times = <T>(count: number, work: () => Promise<T>) => Promise.all(Array.from({ length: count }, work))

let browser: Browser
beforeEach(() => {
  browser = server.browser()
})

test('thirty concurrent starts from one address: ten are allowed', async () => {
  const visits = await times(30, start)
  expect(visits.filter(({ status }) => status === 302)).toHaveLength(10)
  const refused = visits.filter(({ status }) => status === 429)
  expect(refused).toHaveLength(20)
  for (const { headers, body } of refused) {
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
    expect(Number(headers.get('retry-after'))).toBeLessThanOrEqual(900)
    expect(JSON.parse(body)).toMatchObject({ error: expect.any(String), code: 'rate_limited' })
  }
})

test('starts and callbacks of all providers count together, and a callback beyond the limit leads back with a failure', async () => {
  await times(3, () => start('one'))
  await times(3, () => start('two'))
  const failed = await times(6, callback)
  const codes = failed.map(({ oauth_error_code }) => oauth_error_code).sort()
  expect(codes).toEqual([...Array(4).fill('invalid_state'), ...Array(2).fill('rate_limited')])
  expect(await start()).toMatchObject({ status: 429 })
})

test('a sign-in is one attempt: ten people behind one address sign in, the eleventh is refused at the start', async () => {
  for (let person = 1; person <= 10; person++) {
    provider.answers['/profile'] = json({ email: `person-${person}@example.com` })
    expect(await browser.arrive(`${appUrl}/auth/oauth/one`)).toHaveProperty('access_token')
  }
  expect(await start()).toMatchObject({ status: 429 })
})

test('a started sign-in may be finished when the limit is reached meanwhile; a repeated callback counts', async () => {
  const back = await browser.reach(`${appUrl}/auth/oauth/one`, /\/callback$/)
  await times(9, start)
  expect(await browser.arrive(back)).toHaveProperty('access_token')
  provider.asked.length = 0
  expect(await browser.arrive(back)).toMatchObject({ oauth_error_code: 'rate_limited' })
  expect(provider.asked).toEqual([])
})

test('other addresses are not limited', async () => {
  await times(11, start)
  browser = server.browser()
  expect(await start()).toMatchObject({ status: 302 })
})

test('the limit counts the last fifteen minutes, not fixed periods', async () => {
  await times(4, start)
  server.pass(600_000)
  await times(6, start)
  const { headers } = await start()
  const seconds = Number(headers.get('retry-after'))
  expect(seconds).toBeLessThanOrEqual(300)

  // The refused attempts did not count, and the first four expire after five minutes. The test waits another minute,
  // because on a busy machine the four did not arrive within one second.
  server.pass((seconds + 60) * 1000)
  const visits = await times(6, start)
  expect(visits.filter(({ status }) => status === 302)).toHaveLength(4)
})

describe('with oauth.attemptsPerNetwork', () => {
  const large = running({ auth: { isInviteRequired: false }, oauth: { custom, attemptsPerNetwork: 25 } })

  test('the configured number of starts from one address is allowed', async () => {
    const one = large.browser()
    const visits = await times(30, () => one.visit(`${appUrl}/auth/oauth/one`))
    expect(visits.filter(({ status }) => status === 302)).toHaveLength(25)
  })
})
