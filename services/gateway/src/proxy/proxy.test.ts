import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, expect, test } from 'vitest'
import { nowhere, startGateway, startUpstream } from '../gateway.testing.ts'

describe('passing a request on', () => {
  test('path, query and body arrive untouched, whatever the body is', async () => {
    const upstream = await startUpstream()
    const { url, authorized } = await startGateway({ messaging: [upstream.url] })
    const body = '{"content": broken json, \u00e9'

    const response = await fetch(`${url}/channels/a%2Fb/messages?limit=%31`, {
      method: 'POST',
      headers: authorized,
      body,
    })

    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({ url: '/channels/a%2Fb/messages?limit=%31' })
    expect(upstream.seen).toMatchObject([{ method: 'POST', url: '/channels/a%2Fb/messages?limit=%31', body }])
  })

  test('the gateway alone writes the client address, the host and the request id', async () => {
    const upstream = await startUpstream()
    const { url, authorized } = await startGateway(
      { directory: [upstream.url] },
      { auth: { jwtSecret: 'a secret of at least 32 characters', allowPublicDevMode: true } },
    )
    const response = await send(`${url}/users`, {
      ...authorized,
      'x-forwarded-for': '6.6.6.6',
      'x-forwarded-host': 'evil.example',
      'x-forwarded-user': 'root',
      forwarded: 'for=6.6.6.6',
      'x-request-id': 'forged',
      'x-real-ip': '6.6.6.6',
      connection: 'keep-alive, x-private',
      'x-private': 'for the next hop only',
      'proxy-authorization': 'Basic xyz',
      te: 'trailers',
      traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
      baggage: 'tenant=theirs',
      'x-kept': 'yes',
    })

    expect(response.statusCode).toBe(200)
    const { headers } = upstream.seen[0]!
    expect(headers).toMatchObject({
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-host': new URL(url).host,
      'x-request-id': response.headers['x-request-id'],
      'x-kept': 'yes',
      authorization: authorized.authorization,
    })
    expect(
      Object.keys(headers).filter((name) =>
        /^(x-forwarded-user|forwarded|x-real-ip|x-private|proxy-.*|te|traceparent|baggage)$/.test(name),
      ),
    ).toEqual([])
    expect(headers['x-request-id']).not.toBe('forged')
  })

  test('the response keeps its status and headers except hop-by-hop ones, and the gateway adds its own', async () => {
    const upstream = await startUpstream((_request, response) => {
      response.writeHead(
        201,
        [
          ['x-own', 'one'],
          ['set-cookie', 'a=1'],
          ['set-cookie', 'b=2'],
          ['vary', 'accept'],
          ['content-security-policy', 'sandbox'],
          ['connection', 'keep-alive, x-hop'],
          ['x-hop', 'gone'],
          ['x-request-id', 'theirs'],
        ].flat(),
      )
      response.end('made')
    })
    const { url } = await startGateway({ auth: [upstream.url] })
    const response = await send(`${url}/auth/dev-login`, { origin: url }, 'POST')

    expect(response.statusCode).toBe(201)
    expect(response.headers).toMatchObject({
      'x-own': 'one',
      'set-cookie': ['a=1', 'b=2'],
      'content-security-policy': 'sandbox',
      'x-content-type-options': 'nosniff',
      vary: 'Origin, accept',
    })
    expect(response.headers).not.toHaveProperty('x-hop')
    expect(response.headers['x-request-id']).not.toBe('theirs')
  })

  test('a large body is streamed, one beyond the limit is refused with 413', async () => {
    const upstream = await startUpstream()
    const { url, authorized } = await startGateway({ messaging: [upstream.url] })
    const large = 'x'.repeat(1_000_000)
    const tooLarge = 'x'.repeat(2_000_000)
    const post = (path: string, body: string | ReadableStream) =>
      fetch(`${url}${path}`, { method: 'POST', headers: authorized, body, duplex: 'half' } as RequestInit)

    expect((await post('/messages/1/thread', large)).status).toBe(200)
    expect((await post('/files', tooLarge)).status).toBe(200)
    expect(upstream.seen.map(({ body }) => body.length)).toEqual([1_000_000, 2_000_000])

    const refused = await post('/messages/1/thread', tooLarge)
    expect([refused.status, await refused.json()]).toMatchObject([413, { error: expect.any(String) }])
    const refusedUnannounced = await post('/messages/1/thread', new Blob([tooLarge]).stream())
    expect([refusedUnannounced.status, await refusedUnannounced.json()]).toMatchObject([
      413,
      { code: 'body_too_large' },
    ])
  })

  test('a connection serves its next request after a service has refused a body unread', async () => {
    const refusing = await startUpstream((_request, response) => void response.writeHead(413).end('{}'))
    const { url, authorized } = await startGateway({ messaging: [refusing.url] })
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    const failed = once(socket, 'error').then(([error]) => Promise.reject(error))
    const head = (first: string, more: string) =>
      `${first} HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${authorized.authorization}\r\n${more}\r\n\r\n`
    const body = 'x'.repeat(20_000_000)
    const sent = new Promise<void>((resolve) => {
      socket.write(head('POST /files', `Content-Length: ${body.length}`) + body, () => resolve())
    })
    await Promise.race([sent, failed])
    socket.write(head('GET /health', 'Connection: close'))

    const received = await Promise.race([text(socket), failed])
    expect(received.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 413', 'HTTP/1.1 200'])
  })
})

test.each([
  ['while it sends a small body', 'POST /channels/1/messages', 'Content-Length: 100', '{'],
  ['while it sends a body of unknown length', 'POST /channels/1/messages', 'Transfer-Encoding: chunked', '1\r\n{\r\n'],
  ['while it sends a file', 'POST /files', 'Content-Length: 1000000', '{'],
  ['before it is answered', 'GET /users', 'X-Nothing: none', ''],
  ['in the middle of its answer', 'GET /files/long.txt', 'X-Nothing: none', ''],
])('a client that leaves %s is no warning', async (_when, first, header, begin) => {
  const ended = Promise.withResolvers<void>()
  const upstream = await startUpstream((request, response) => {
    response.once('close', ended.resolve)
    if (request.url === '/files/long.txt') response.write('x'.repeat(10_000))
    // The client leaves before the service has replied.
    else socket.destroy()
  })
  const upstreams = { messaging: [upstream.url], directory: [upstream.url] }
  const { url, authorized, logged } = await startGateway(upstreams)
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  const expectation = begin ? 'Expect: 100-continue\r\n' : ''
  socket.write(
    `${first} HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${authorized.authorization}\r\n${expectation}${header}\r\n\r\n`,
  )
  if (begin) {
    await once(socket, 'data')
    socket.write(begin)
    await fetch(`${url}/health`)
    socket.destroy()
  } else if (first === 'GET /files/long.txt') {
    await once(socket, 'data')
    socket.destroy()
    await ended.promise
  }
  await expect.poll(() => logged().some(({ msg }) => msg.startsWith('the client left'))).toBe(true)

  expect(logged().filter(({ level }) => level !== 'debug' && level !== 'info')).toEqual([])
})

describe('when a replica fails', () => {
  test('a replica that cannot be reached is passed over, for every method', async () => {
    const upstream = await startUpstream()
    const { url, authorized } = await startGateway({ messaging: [nowhere, upstream.url] })
    const statuses = []
    for (const method of ['POST', 'PUT', 'DELETE', 'GET', 'POST', 'POST']) {
      const response = await fetch(`${url}/messages/1`, {
        method,
        headers: authorized,
        ...(method !== 'GET' && { body: method }),
      })
      statuses.push(response.status)
    }

    expect(statuses).toEqual([200, 200, 200, 200, 200, 200])
    expect(upstream.seen.map(({ method, body }) => [method, body])).toEqual([
      ['POST', 'POST'],
      ['PUT', 'PUT'],
      ['DELETE', 'DELETE'],
      ['GET', ''],
      ['POST', 'POST'],
      ['POST', 'POST'],
    ])
  })

  test('a streamed body goes to the next replica when the first cannot be reached', async () => {
    const upstream = await startUpstream()
    const { url, authorized } = await startGateway({ messaging: [nowhere, upstream.url] })
    const body = 'x'.repeat(900_000)
    const responses = await Promise.all(
      [0, 1].map(() => fetch(`${url}/messages/1`, { method: 'PUT', headers: authorized, body })),
    )

    expect(responses.map(({ status }) => status)).toEqual([200, 200])
    expect(upstream.seen.map((each) => each.body.length)).toEqual([900_000, 900_000])
  })

  test('replicas take turns', async () => {
    const upstreams = [await startUpstream(), await startUpstream()]
    const { url, authorized } = await startGateway({ directory: upstreams.map((each) => each.url) })
    for (let n = 0; n < 6; n++) await fetch(`${url}/users`, { headers: authorized })

    expect(upstreams.map(({ seen }) => seen.length)).toEqual([3, 3])
  })

  test('a connection lost after sending is a 503, and only a GET goes to another replica', async () => {
    const cut = await startUpstream((request) => void request.socket.destroy())
    const upstream = await startUpstream()
    const { url, authorized } = await startGateway({ messaging: [cut.url, upstream.url] })
    const statuses = async (method: string) => {
      const responses = await Promise.all([0, 1].map(() => fetch(`${url}/messages/1`, { method, headers: authorized })))
      return responses.map(({ status }) => status).sort()
    }

    expect(await statuses('POST')).toEqual([200, 503])
    expect(await statuses('GET')).toEqual([200, 200])
  })

  test('a request with an Idempotency-Key goes to another replica when its response is lost, on routes that know the key', async () => {
    const cut = await startUpstream((request) => void request.socket.destroy())
    const upstream = await startUpstream()
    const { url, authorized } = await startGateway({
      messaging: [cut.url, upstream.url],
      directory: [cut.url, upstream.url],
    })
    const headers = { ...authorized, 'idempotency-key': 'mine' }
    const statuses = async (path: string) => {
      const responses = await Promise.all([0, 1].map(() => fetch(url + path, { method: 'POST', headers, body: '{}' })))
      return responses.map(({ status }) => status).sort()
    }

    for (const path of ['/channels', '/channels/1/messages', '/messages/1/thread', '/conversations/1/messages']) {
      expect(await statuses(path)).toEqual([200, 200])
    }
    expect(await statuses('/channels/1/join')).toEqual([200, 503])
    expect(await statuses('/messages/1/reactions')).toEqual([200, 503])
    const long = { method: 'POST', headers, body: 'x'.repeat(900_000) }
    const responses = await Promise.all([0, 1].map(() => fetch(`${url}/channels/1/messages`, long)))
    expect(responses.map(({ status }) => status)).toEqual([200, 200])
  })

  test('requests to a replica that hangs are ended: repeatable requests are repeated, others get 503, streams end, and later requests avoid it', {
    timeout: 60_000,
  }, async () => {
    let served = 0
    const frozen = await startUpstream((request, response) => {
      served++
      streamOrEcho(request, response)
    })
    const upstream = await startUpstream(streamOrEcho)
    const both = [frozen.url, upstream.url]
    const { url, authorized } = await startGateway(
      { messaging: both, realtime: both },
      {},
      { healthChecks: { intervalMs: 250, timeoutMs: 1_000 } },
    )
    const streams = await Promise.all([0, 1].map(() => fetch(`${url}/events`, { headers: authorized })))
    const ends = streams.map((stream) =>
      stream.text().then(
        () => 'ended',
        () => 'broke off',
      ),
    )
    const ask = (method: string, more = {}) =>
      fetch(`${url}/messages/1/thread`, { method, headers: { ...authorized, ...more } })
    const statuses = async (asked: Promise<Response>[]) => (await Promise.all(asked)).map(({ status }) => status).sort()
    // Both are connected. A request for which a connection is opened in vain is sent to the other one.
    expect(await statuses([ask('PUT'), ask('PUT')])).toEqual([200, 200])
    frozen.freeze()
    const asked = ['GET', 'PUT', 'POST'].map((method) => {
      const more = method === 'POST' ? { 'idempotency-key': 'mine' } : {}
      return statuses([ask(method, more), ask(method, more)])
    })

    expect(await Promise.all(asked)).toEqual([
      [200, 200],
      [200, 503],
      [200, 200],
    ])
    // A stream ends with its connection, so no event is lost.
    expect(await Promise.race(ends)).toBe('ended')
    expect(await statuses(Array.from({ length: 6 }, () => ask('PUT')))).toEqual([200, 200, 200, 200, 200, 200])
    frozen.freeze(false)
    const before = served
    await expect.poll(() => ask('GET').then(() => served), { timeout: 20_000 }).toBeGreaterThan(before)
  })

  test('a replica that hangs before it is connected gets no request, and another one gets those that cannot be repeated', async () => {
    const frozen = await startUpstream()
    frozen.freeze()
    const upstream = await startUpstream()
    const { url, authorized } = await startGateway({ messaging: [frozen.url, upstream.url] })
    const ask = () => fetch(`${url}/messages/1/thread`, { method: 'PUT', headers: authorized })

    const responses = await Promise.all([ask(), ask()])

    expect(responses.map(({ status }) => status)).toEqual([200, 200])
    expect(upstream.seen).toHaveLength(2)
  })

  test('a replica of an earlier version gets a connection for each request at a time', async () => {
    const upstream = await startUpstream(undefined, { carries: false })
    const { url, authorized } = await startGateway({ messaging: [upstream.url] })
    const paths = Array.from({ length: 10 }, (_, n) => `/channels/${n}/messages`)

    const responses = await Promise.all(paths.map((path) => fetch(url + path, { headers: authorized })))

    expect(responses.map(({ status }) => status)).toEqual(paths.map(() => 200))
    expect(upstream.seen.map(({ url }) => url).sort()).toEqual(paths)
  })

  test('requests share a connection to a replica, and begin a new one when it has broken', async () => {
    const upstream = await startUpstream()
    const connected: Socket[] = []
    upstream.server.on('upgrade', (_request, socket: Socket) => connected.push(socket))
    const { url, authorized } = await startGateway({ messaging: [upstream.url] })
    const ask = (n: number) => fetch(`${url}/channels/${n}/messages`, { headers: authorized })
    const statuses = async () => (await Promise.all([1, 2, 3].map(ask))).map(({ status }) => status)

    expect(await statuses()).toEqual([200, 200, 200])
    expect(connected).toHaveLength(1)
    connected[0]!.destroy()
    await expect.poll(statuses).toEqual([200, 200, 200])
    expect(connected).toHaveLength(2)
  })

  test('without any replica a request gets 503 with an error and Retry-After', async () => {
    const { url, authorized } = await startGateway({})
    const response = await fetch(`${url}/users`, { headers: authorized })

    expect([response.status, await response.json()]).toMatchObject([
      503,
      { error: expect.any(String), code: 'unavailable' },
    ])
    expect(response.headers.get('retry-after')).toBe('1')
  })

  test('a response that the service breaks off is broken off for the client too', async () => {
    const upstream = await startUpstream((request, response) => {
      response.write('half')
      response.write(' of it', () => request.socket.destroy())
    })
    const { url, authorized } = await startGateway({ directory: [upstream.url] })

    await expect(fetch(`${url}/users`, { headers: authorized }).then((response) => response.text())).rejects.toThrow()
  })
})

describe('event streams', () => {
  test('each event arrives at once, and when the client leaves, the request to the service ends', async () => {
    const { promise: opened, resolve } = Promise.withResolvers<[IncomingMessage, ServerResponse]>()
    const upstream = await startUpstream((request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.flushHeaders()
      resolve([request, response])
    })
    const { url, token } = await startGateway({ realtime: [upstream.url] })
    const client = new AbortController()
    const received = await fetch(`${url}/events?token=${token}`, { signal: client.signal })
    expect(received.headers.get('content-type')).toBe('text/event-stream')
    const [request, response] = await opened
    const reader = received.body!.pipeThrough(new TextDecoderStream()).getReader()

    for (const event of ['data: 1\n\n', 'data: 2\n\n']) {
      response.write(event)
      expect(await reader.read()).toEqual({ done: false, value: event })
    }
    const ended = once(request.socket, 'close')
    client.abort()
    await ended
  })

  test('when the service ends a stream, the stream of the client ends', async () => {
    const upstream = await startUpstream((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end('data: last\n\n')
    })
    const { url, token } = await startGateway({ realtime: [upstream.url] })

    expect(await (await fetch(`${url}/events?token=${token}`)).text()).toBe('data: last\n\n')
  })

  test('a stopping gateway ends its streams in order', async () => {
    const upstream = await startUpstream((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('data: 1\n\n')
    })
    const { url, token, stop } = await startGateway({ realtime: [upstream.url] }, { events: { drainSeconds: 0 } })
    const response = await fetch(`${url}/events?token=${token}`)
    const text = response.text()
    await stop()

    expect(await text).toBe('data: 1\n\n')
  })
})

/** Responds to `GET /events` with a stream that stays open, and to other requests with an empty response. */
function streamOrEcho(request: IncomingMessage, response: ServerResponse) {
  if (request.url === '/events') response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
  else response.end()
}

/** Like `fetch`, for headers that `fetch` does not allow. */
async function send(url: string, headers: Record<string, string>, method = 'GET'): Promise<IncomingMessage> {
  const request = httpRequest(url, { headers, method })
  request.end()
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  response.resume()
  await once(response, 'end')
  return response
}
