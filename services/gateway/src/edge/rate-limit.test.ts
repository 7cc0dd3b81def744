import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type EmbeddedServer, startRedis } from '@parley/embedded'
import { createApiToken } from '@parley/identity'
import { redisShapes, whyNoRedis } from '@parley/test'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { refusal, startGateway, startUpstream, statusOf } from '../gateway.testing.ts'
import { routedServices } from '../routing-table.ts'

const missing = await whyNoRedis()

describe('rate limit and its Redis', () => {
  let directory: string
  let redis: EmbeddedServer
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'parley-gateway-'))
    redis = await startRedis({ directory, durable: false })
  })
  afterAll(async () => {
    await redis.stop()
    await rm(directory, { recursive: true })
  })

  test('readiness is degraded while Redis answers but refuses writes, because its memory is full', async () => {
    const upstream = await startUpstream()
    const all = Object.fromEntries(routedServices.map((name) => [name, [upstream.url]]))
    const { url } = await startGateway(all, { redis: { url: redis.url, keyPrefix: 'full:' } })
    const readiness = async () => ((await (await fetch(`${url}/health/ready`)).json()) as { status: string }).status
    await expect.poll(readiness).toBe('ok')

    const operator = new Redis(redis.url)
    onTestFinished(() => operator.disconnect())
    await operator.config('SET', 'maxmemory', '1')
    expect(await readiness()).toBe('degraded')
    await operator.config('SET', 'maxmemory', '0')
    expect(await readiness()).toBe('ok')
  })

  test('a client counts as one when its proxy writes ports beside addresses', async () => {
    const upstream = await startUpstream()
    const settings = {
      redis: { url: redis.url, keyPrefix: 'ports:' },
      rateLimit: { enabled: true, perMinuteAnonymous: 3 },
      server: { trustedProxies: ['127.0.0.1'] },
      auth: { jwtSecret: 'a secret of at least 32 characters', allowPublicDevMode: true },
    }
    const { url } = await startGateway({ auth: [upstream.url] }, settings)
    const ask = (address: string) => statusOf(`${url}/config.json`, { 'x-forwarded-for': address })

    const same = ['203.0.113.5:1', '203.0.113.5:2', 'made up, 203.0.113.5', '203.0.113.5:3', '203.0.113.5']
    for (const address of same) await ask(address)
    expect(await ask('203.0.113.5:4')).toBe(429)
    expect(await ask('203.0.113.6:4')).toBe(200)
    for (let port = 1; port <= 5; port++) await ask(`[2001:db8::1%eth${port}]:${port}`)
    expect(await ask('[2001:db8::1]:6')).toBe(429)
    expect(upstream.seen.map(({ headers }) => headers['x-forwarded-for'])).toEqual([
      ...['203.0.113.5', '203.0.113.5', '203.0.113.5', '203.0.113.6'],
      ...['2001:db8::1', '2001:db8::1', '2001:db8::1'],
    ])
  })

  test('a browser that comes from a provider is redirected to the application', async () => {
    const upstream = await startUpstream()
    const keys = { url: redis.url, keyPrefix: 'callbacks:' }
    const auth = { appUrl: 'https://chat.example.com' }
    const settings = { redis: keys, rateLimit: { enabled: true, perMinuteAnonymous: 1 }, auth }
    const { url } = await startGateway({ auth: [upstream.url] }, settings)
    const oauth = `${url}/auth/oauth/one`
    expect(await statusesOf([oauth, oauth])).toEqual([200, 429])
    const requests = [
      [`${oauth}/callback?code=a&state=b`, 'GET'],
      [`${url}/auth/saml/corp/acs`, 'POST'],
    ]
    for (const [address, method] of requests) {
      const { status, headers } = await fetch(address!, { method: method!, redirect: 'manual' })
      const target = new URL(headers.get('location')!)
      expect({ status, home: target.origin + target.pathname }).toEqual({ status: 302, home: `${auth.appUrl}/` })
      expect(Object.fromEntries(target.searchParams)).toEqual({
        oauth_error: 'Too many requests. Please slow down',
        oauth_error_code: 'rate_limited',
      })
    }
  })

  test('the page and its files do not count, because people of one office share an address', async () => {
    const upstream = await startUpstream()
    const keys = { url: redis.url, keyPrefix: 'page:' }
    const settings = { redis: keys, rateLimit: { enabled: true, perMinuteAnonymous: 1 } }
    const { url } = await startGateway({ auth: [upstream.url], web: [upstream.url] }, settings)
    const html = { accept: 'text/html' }
    for (const path of ['/', '/c/some-id', '/admin/export'])
      expect(await statusesOf([url + path, url + path], html)).toEqual([200, 200])
    for (const path of ['/assets/a.js', '/worker.js'])
      expect(await statusesOf([url + path, url + path])).toEqual([200, 200])
    expect(await statusesOf([`${url}/config.json`, `${url}/config.json`])).toEqual([200, 429])
    // Neither the page nor its files take other methods, so those count.
    expect((await fetch(`${url}/assets/a.js`, { method: 'POST' })).status).toBe(429)
  })

  test('the token of an ended session counts for its address', async () => {
    const refusing = await startUpstream((_request, response) => void response.writeHead(401).end('{}'))
    const keys = { url: redis.url, keyPrefix: 'ended:' }
    const settings = { redis: keys, rateLimit: { enabled: true, perMinute: 100, perMinuteAnonymous: 4 } }
    const gateway = await startGateway({ directory: [refusing.url], auth: [refusing.url] }, settings)
    await expectLimit(4, [gateway], '/users', gateway.authorized)

    // On a route that needs no session any token is ignored.
    const other = await startGateway({ auth: [(await startUpstream()).url] }, settings)
    await expectLimit(0, [other], '/config.json', other.authorized)
  })

  test('an API token counts for its address until a service has accepted it, then for its user', async () => {
    const ids = { tokenId: randomUUID(), userId: randomUUID() }
    const [good, forged] = [createApiToken(ids), createApiToken(ids)].map(({ token }) => `Bearer ${token}`)
    const upstream = await startUpstream(({ headers }, response) => {
      response.writeHead(headers.authorization === good ? 200 : 401).end('{}')
    })
    const keys = { url: redis.url, keyPrefix: 'tokens:' }
    const settings = { redis: keys, rateLimit: { enabled: true, perMinute: 3, perMinuteAnonymous: 5 } }
    const gateway = await startGateway({ directory: [upstream.url], auth: [upstream.url] }, settings)

    expect(await statusesOf([`${gateway.url}/users`], { authorization: good! })).toEqual([200])
    await expectLimit(3, [gateway], '/users', { authorization: good! })
    await expectLimit(4, [gateway], '/users', { authorization: forged! })
    await expectLimit(0, [gateway], '/config.json')
  })

  test('calls of Slack’s web API count for the user of a token that the service has accepted', async () => {
    const userId = randomUUID()
    const newToken = () => `Bearer ${createApiToken({ tokenId: randomUUID(), userId }).token}`
    const [good, ended, forged] = [newToken(), newToken(), newToken()]
    const isLive = new Set([good, ended])
    const upstream = await startUpstream(({ headers }, response) => {
      const isAccepted = isLive.has(headers.authorization!)
      response.writeHead(200, isAccepted ? { 'x-oauth-scopes': 'read' } : { 'www-authenticate': 'Bearer' })
      response.end(JSON.stringify({ ok: isAccepted }))
    })
    const keys = { url: redis.url, keyPrefix: 'slack:' }
    const settings = { redis: keys, rateLimit: { enabled: true, perMinute: 3, perMinuteAnonymous: 6 } }
    const gateway = await startGateway({ integrations: [upstream.url], auth: [upstream.url] }, settings)
    const path = '/slack/api/auth.test'
    for (const authorization of [good!, ended!])
      expect(await statusesOf([gateway.url + path], { authorization })).toEqual([200])
    isLive.delete(ended)
    // This call finds out that the token has ended.
    expect(await statusesOf([gateway.url + path], { authorization: ended! })).toEqual([200])
    await expectLimit(2, [gateway], path, { authorization: good! })
    await expectLimit(3, [gateway], path, { authorization: forged! })
    await expectLimit(0, [gateway], path, { authorization: ended! })
  })

  test('counts people and addresses separately over all gateways, not health checks, and nothing while Redis is unavailable', async () => {
    const upstream = await startUpstream()
    const upstreams = { directory: [upstream.url], auth: [upstream.url] }
    const settings = { redis: { url: redis.url }, rateLimit: { enabled: true, perMinute: 3, perMinuteAnonymous: 2 } }
    const gateways = await Promise.all([startGateway(upstreams, settings), startGateway(upstreams, settings)])
    const [one] = gateways

    const refused = await expectLimit(3, gateways, '/users', one.authorized)
    expect(await refused.json()).toMatchObject({ ...refusal, code: 'rate_limited' })
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    await expectLimit(2, gateways, '/config.json')
    await expectLimit(0, gateways, '/users', { authorization: 'Bearer a.b.c' })
    expect(await statusesOf([`${one.url}/health`, `${one.url}/health/live`])).toEqual([200, 200])

    const asAnn = [...gateways, ...gateways].map(({ url }) => `${url}/users`)
    redis.kill('SIGSTOP')
    expect(await statusesOf(asAnn, one.authorized)).toEqual([200, 200, 200, 200])
    redis.kill('SIGCONT')
    redis.kill('SIGKILL')
    expect(await statusesOf(asAnn, one.authorized)).toEqual([200, 200, 200, 200])
    expect(await one.deps.metrics.text()).toMatch(/parley_rate_limit_unavailable_total [1-9]/)
  })

  test.skipIf(missing)(`counts in a Redis Cluster${missing ? ` (skipped: ${missing})` : ''}`, async () => {
    const shapes = await redisShapes()
    onTestFinished(() => shapes.discard())
    const clusterNodes = (await shapes.cluster()).map(({ address }) => address)
    const upstream = await startUpstream()
    const upstreams = { directory: [upstream.url], auth: [upstream.url] }
    const settings = { redis: { clusterNodes }, rateLimit: { enabled: true, perMinute: 3, perMinuteAnonymous: 2 } }
    const gateways = await Promise.all([startGateway(upstreams, settings), startGateway(upstreams, settings)])

    await expectLimit(3, gateways, '/users', gateways[0].authorized)
    await expectLimit(2, gateways, '/config.json')
  })
})

/**
 * Sends requests to the gateways in turn until one refuses, and returns the refusal. On a busy machine Redis may be too
 * slow to count some requests, so a few more than `most` may pass.
 */
async function expectLimit(
  most: number,
  gateways: Awaited<ReturnType<typeof startGateway>>[],
  path: string,
  headers: Record<string, string> = {},
): Promise<Response> {
  const before = await uncounted()
  for (let passed = 0; ; passed++) {
    const response = await fetch(gateways[passed % gateways.length]!.url + path, { headers })
    if (response.status !== 429) continue
    expect(passed).toBeGreaterThanOrEqual(most)
    expect(passed).toBeLessThanOrEqual(most + (await uncounted()) - before)
    return response
  }

  async function uncounted() {
    const texts = await Promise.all(gateways.map(({ deps }) => deps.metrics.text()))
    return texts.reduce((sum, text) => sum + Number(/^parley_rate_limit_unavailable_total (\d+)/m.exec(text)![1]), 0)
  }
}

async function statusesOf(urls: string[], headers: Record<string, string> = {}) {
  const statuses: number[] = []
  for (const url of urls) statuses.push((await fetch(url, { headers })).status)
  return statuses
}
