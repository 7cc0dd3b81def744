import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { brotliCompressSync, brotliDecompressSync } from 'node:zlib'
import { request } from 'undici'
import { describe, expect, test } from 'vitest'
import { refusal, startGateway, startUpstream, statusOf } from '../gateway.testing.ts'
import { routedServices } from '../routing-table.ts'

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
