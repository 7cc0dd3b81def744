import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { brotliCompressSync, brotliDecompressSync } from 'node:zlib'
import { type EmbeddedServer, startRedis } from '@parley/embedded'
import { createApiToken } from '@parley/identity'
import { redisShapes, whyNoRedis } from '@parley/test'
import { Redis } from 'ioredis'
import { request } from 'undici'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { startGateway, startUpstream } from '../gateway.testing.ts'
import { routedServices } from '../routing-table.ts'

const refusal = { error: expect.any(String), requestId: expect.any(String) }
const missing = await whyNoRedis()

describe('admission', () => {
  test.each([
    ['no token', {}, 401],
    ['a forged token', { authorization: 'Bearer a.b.c' }, 401],
    ['no bearer', { authorization: 'Basic YTpi' }, 401],
  ])('a request with %s is refused by the gateway', async (_what, headers: Record<string, string>, status) => {
    const upstream = await startUpstream()
    const { url } = await startGateway({ directory: [upstream.url], realtime: [upstream.url] })

    for (const path of ['/users', '/events', '/events?token=a.b.c']) {
      const response = await fetch(url + path, { headers })
      expect([response.status, await response.json()]).toMatchObject([status, refusal])
    }
    expect(upstream.seen).toEqual([])
  })

  test('tokens that only the service can check are passed on', async () => {
    const upstream = await startUpstream()
    const { url } = await startGateway({ auth: [upstream.url], messaging: [upstream.url] })
    const headers = { authorization: 'Bearer a-token-of-its-own' }

    expect((await fetch(`${url}/webhooks/1/messages`, { method: 'POST', headers })).status).toBe(200)
    expect((await fetch(`${url}/auth/verify`, { method: 'POST', headers })).status).toBe(200)
    expect((await fetch(`${url}/config.json`)).status).toBe(200)
    expect(upstream.seen[0]!.headers.authorization).toBe(headers.authorization)
  })

  test('an unknown address is 404', async () => {
    const { url, authorized } = await startGateway({})
    const response = await fetch(`${url}/nothing/here`, { headers: authorized })

    expect([response.status, await response.json()]).toMatchObject([404, refusal])
    expect(response.headers.get('x-request-id')).toBeTruthy()
  })

  test('an unknown address belongs to the web client when a browser opens it, except below the addresses of the API', async () => {
    const upstream = await startUpstream()
    const { url } = await startGateway({ web: [upstream.url] })
    const open = (path: string, init: RequestInit = {}) =>
      fetch(url + path, { headers: { accept: 'text/html,*/*;q=0.8' }, ...init })

    for (const path of ['/nothing/here', '/admin', '/c', '/profile/?a=b']) {
      expect(await (await open(path)).json()).toEqual({ url: path })
      expect((await open(path, { method: 'HEAD' })).status).toBe(200)
    }
    // An address with an invalid escape is not forwarded, because the service could not read it either.
    for (const path of ['/c/%', '/%E0%A4%A']) {
      expect(await (await open(path)).json()).toEqual({ url: '/not-found' })
      expect((await open(path, { headers: { accept: 'application/json' } })).status).toBe(400)
    }
    const refused = [
      open('/scim'),
      open('/slack/nothing'),
      open('/nothing/here', { method: 'POST' }),
      open('/nothing/here', { headers: { accept: 'application/json' } }),
    ]
    for (const response of await Promise.all(refused)) {
      expect([response.status, await response.json()]).toMatchObject([404, refusal])
    }
  })

  test('without the web client an unknown address is 404 to a browser too', async () => {
    const { url } = await startGateway({})
    const response = await fetch(`${url}/admin`, { headers: { accept: 'text/html' } })
    expect([response.status, await response.json()]).toMatchObject([404, refusal])
  })

  test.each([
    ['another site’s name', { host: 'evil.example' }, 403],
    ['a proxy', { 'x-forwarded-for': '10.0.0.1' }, 403],
    ['a proxy of the newer kind', { forwarded: 'for=10.0.0.1' }, 403],
    ['this machine', { host: 'localhost:3000' }, 200],
  ])('dev mode: %s', async (_what, headers: Record<string, string>, status) => {
    const upstream = await startUpstream()
    const { url } = await startGateway({ auth: [upstream.url] })
    expect(await statusOf(`${url}/config.json`, headers)).toBe(status)
  })

  test('in a mode with credentials the server answers under any host name', async () => {
    const upstream = await startUpstream()
    const { url } = await startGateway(
      { auth: [upstream.url] },
      {
        auth: { jwtSecret: 'a secret of at least 32 characters', authMode: 'password' },
        chat: { initialUser: { password: 'long enough' } },
      },
    )
    expect(await statusOf(`${url}/config.json`, { host: 'chat.example', 'x-forwarded-for': '10.0.0.1' })).toBe(200)
  })
})

describe('requests that HTTP does not allow', () => {
  test.each([
    ['no request line', 'nonsense'],
    ['two hosts', 'GET /health HTTP/1.1\r\nHost: localhost\r\nHost: evil.example'],
    ['two hosts that are the same', 'GET /health HTTP/1.1\r\nhost: localhost\r\nHOST: localhost'],
    ['an unknown transfer coding', 'POST /files HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip, chunked'],
    ['the same with HTTP/1.0', 'POST /files HTTP/1.0\r\nHost: localhost\r\nTransfer-Encoding: gzip, chunked'],
    ['chunks within chunks', 'POST /files HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked, chunked'],
  ])('%s: 400 with a sentence and the security headers, and the connection ends', async (_what, head) => {
    const { url } = await startGateway({})
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    socket.write(`${head}\r\n\r\n`)
    const received = await text(socket)

    expect(received).toMatch(/^HTTP\/1\.1 400 /)
    for (const header of ['content-security-policy: ', 'x-content-type-options: nosniff', 'connection: close']) {
      expect(received.toLowerCase()).toContain(header)
    }
    expect(JSON.parse(received.split('\r\n\r\n')[1]!)).toMatchObject({ error: expect.any(String) })
  })
})

test('an address that cannot be decoded gets 400 with the headers of every response', async () => {
  const { url } = await startGateway({})
  const response = await fetch(`${url}/users/%zz`)
  expect([response.status, await response.json()]).toMatchObject([400, refusal])
  expect(Object.fromEntries(response.headers)).toMatchObject({
    'content-security-policy': expect.stringContaining("default-src 'none'"),
    'x-content-type-options': 'nosniff',
    'x-request-id': expect.any(String),
    'cache-control': 'no-store',
  })
})

describe('browsers', () => {
  const settings = { server: { allowedOrigins: ['https://chat.example'] } }

  test('pages of allowed origins may call, others may not', async () => {
    const { url } = await startGateway({}, settings)
    const preflight = (origin: string) =>
      fetch(`${url}/channels`, {
        method: 'OPTIONS',
        headers: { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization' },
      })

    const allowed = await preflight('https://chat.example')
    expect(allowed.status).toBe(204)
    expect(allowed.headers.get('access-control-allow-origin')).toBe('https://chat.example')
    expect(allowed.headers.get('access-control-allow-headers')).toContain('Idempotency-Key')
    expect(allowed.headers.get('access-control-allow-credentials')).toBeNull()
    expect((await preflight('https://evil.example')).headers.get('access-control-allow-origin')).toBeNull()
  })

  test('no page of another origin may ask for the session cookie, not even of an allowed one', async () => {
    const { url } = await startGateway({}, settings)
    const { headers } = await fetch(`${url}/auth/refresh`, {
      method: 'OPTIONS',
      headers: {
        origin: 'https://chat.example',
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'x-parley-session',
      },
    })
    expect(headers.get('access-control-allow-headers')?.toLowerCase()).not.toContain('x-parley-session')
    expect(headers.get('access-control-allow-credentials')).toBeNull()
  })

  test('a logout with the session cookie alone is for the service to check; a request without its header is not', async () => {
    const upstream = await startUpstream()
    const { url } = await startGateway({ auth: [upstream.url], directory: [upstream.url] })
    const ask = (path: string, headers: Record<string, string>) =>
      statusOf(`${url}${path}`, { cookie: 'parley_session=a', ...headers })
    expect(await ask('/auth/logout', { 'x-parley-session': 'cookie' })).toBe(200)
    expect(await ask('/auth/logout', {})).toBe(401)
    expect(await ask('/auth/logout', { 'x-parley-session': 'cookie', authorization: 'Bearer a.b.c' })).toBe(401)
    expect(await ask('/users', { 'x-parley-session': 'cookie' })).toBe(401)
    expect(upstream.seen.map(({ headers }) => headers.cookie)).toEqual(['parley_session=a'])
  })

  test('every response, also a refusal, carries its request id and the security headers', async () => {
    const { url } = await startGateway({}, settings)
    const { headers } = await fetch(`${url}/channels`, { headers: { origin: 'https://chat.example' } })

    expect(headers.get('x-request-id')).toMatch(/^[\w-]{36}$/)
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('content-security-policy')).toContain("default-src 'none'")
    expect(headers.get('access-control-expose-headers')).toContain('Retry-After')
  })
})

describe('documentation', () => {
  test('the descriptions of all services are merged into one document', async () => {
    const described = await Promise.all(
      routedServices.map((name) =>
        startUpstream((_request, response) =>
          response.end(JSON.stringify({ openapi: '3.1.0', paths: { [`/${name}`]: { get: {} } } })),
        ),
      ),
    )
    const { url } = await startGateway(Object.fromEntries(routedServices.map((name, n) => [name, [described[n]!.url]])))
    const expected = routedServices.map((name) => `/${name}`)

    for (const path of ['/openapi.json', '/docs/json']) {
      const document = (await (await fetch(url + path)).json()) as { openapi: string; paths: object }
      expect([document.openapi, Object.keys(document.paths)]).toEqual(['3.1.0', expect.arrayContaining(expected)])
    }
  })

  test('while a service is unavailable the document is 503', async () => {
    const { url } = await startGateway({})
    expect((await fetch(`${url}/openapi.json`)).status).toBe(503)
  })

  test('the page and its files come from the gateway, under a policy of their own', async () => {
    const { url } = await startGateway({})
    const page = await fetch(url)
    expect(page.url).toBe(`${url}/docs`)
    expect(page.headers.get('content-security-policy')).toContain("script-src 'self'")

    const sources = [...(await page.text()).matchAll(/(?:src|href)="([^"]+)"/g)].map(([, source]) => source!)
    expect(sources.length).toBeGreaterThan(3)
    for (const source of sources) {
      const address = new URL(source, `${url}/`)
      const response = await fetch(address)
      await response.arrayBuffer()
      expect([address.origin, response.status]).toEqual([url, 200])
    }
  })
})

describe('compression', () => {
  const accepting = { 'accept-encoding': 'br, gzip' }

  test('the gateway compresses its own files, and answers 304 to a client that has them', async () => {
    const { url } = await startGateway({})
    const file = `${url}/docs/static/swagger-ui-bundle.js`
    const plain = await request(file)
    const packed = await request(file, { headers: accepting })
    const bytes = Buffer.from(await packed.body.arrayBuffer())
    expect(packed.headers).toMatchObject({ 'content-encoding': 'br', vary: expect.stringContaining('Accept-Encoding') })
    expect(brotliDecompressSync(bytes).toString()).toBe(await plain.body.text())
    expect(packed.headers.etag).toBe(plain.headers.etag)

    for (const more of [{}, accepting]) {
      const again = await request(file, { headers: { ...more, 'if-none-match': String(packed.headers.etag) } })
      expect([again.statusCode, await again.body.text()]).toEqual([304, ''])
    }
    const part = await request(file, { headers: { ...accepting, range: 'bytes=0-9' } })
    expect([part.statusCode, (await part.body.text()).length]).toEqual([206, 10])
    expect(part.headers).not.toHaveProperty('content-encoding')
  })

  test('a compressed response of a service is not changed, and an uncompressed one is not compressed', async () => {
    const text = JSON.stringify({ text: 'the same words '.repeat(500) })
    const upstream = await startUpstream((incoming, response) => {
      const isPacked = incoming.headers['accept-encoding'] === accepting['accept-encoding']
      response.setHeader('vary', 'Accept-Encoding').setHeader('content-type', 'application/json')
      if (isPacked) response.setHeader('content-encoding', 'br').end(brotliCompressSync(text))
      else response.end(text)
    })
    const settings = { server: { allowedOrigins: ['https://chat.example'] } }
    const { url, authorized } = await startGateway({ directory: [upstream.url] }, settings)
    const packed = await request(`${url}/users`, { headers: { ...authorized, ...accepting } })
    expect(packed.headers).toMatchObject({ 'content-encoding': 'br', vary: 'Origin, Accept-Encoding' })
    expect(brotliDecompressSync(Buffer.from(await packed.body.arrayBuffer())).toString()).toBe(text)
    const plain = await request(`${url}/users`, { headers: { ...authorized, 'accept-encoding': 'gzip' } })
    expect(plain.headers).not.toHaveProperty('content-encoding')
    expect(await plain.body.text()).toBe(text)
  })
})

describe('readiness', () => {
  test('names the service that is unavailable; is degraded when only Redis is unavailable', async () => {
    const upstream = await startUpstream()
    const all = Object.fromEntries(routedServices.map((name) => [name, [upstream.url]]))
    const partly = await startGateway({ ...all, messaging: undefined })
    const entirely = await startGateway(all)

    const no = await fetch(`${partly.url}/health/ready`)
    expect([no.status, await no.json()]).toMatchObject([
      503,
      { status: 'unavailable', dependencies: { messaging: { status: 'unavailable' }, auth: { status: 'ok' } } },
    ])
    const yes = await fetch(`${entirely.url}/health/ready`)
    expect([yes.status, await yes.json()]).toMatchObject([
      200,
      { status: 'degraded', dependencies: { redis: { status: 'unavailable', required: false } } },
    ])
  })

  test('does not count services as unavailable because the gateway was stopped for a while', async () => {
    let isFirst = true
    const upstream = await startUpstream((_incoming, response) => {
      if (isFirst) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_100)
      isFirst = false
      response.end('{}')
    })
    const { url } = await startGateway(Object.fromEntries(routedServices.map((name) => [name, [upstream.url]])))
    expect((await fetch(`${url}/health/ready`)).status).toBe(200)
  })
})

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

/** `fetch` sets its own Host header. */
async function statusOf(url: string, headers: Record<string, string>): Promise<number> {
  const { statusCode, body } = await request(url, { headers })
  await body.dump()
  return statusCode
}
