import { once } from 'node:events'
import http from 'node:http'
import http2 from 'node:http2'
import { connect } from 'node:net'
import path from 'node:path'
import { Person, samples } from '@parley/test'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { conversationJourneys } from '../journeys/conversation-journeys.ts'
import { listingJourneys } from '../journeys/listing-journeys.ts'
import { sessionJourneys } from '../journeys/session-journeys.ts'
import { streamJourneys } from '../journeys/stream-journeys.ts'
import { talkJourneys } from '../journeys/talk-journeys.ts'
import { createCertifiedKey } from '../src/certificates.ts'
import type { Program } from '../src/debian-program.ts'
import { type Installation, launch } from '../src/launch.ts'
import { createTestServer } from '../src/test-server.ts'
import { type FurtherGateway, realtimeAddresses, startFurtherGateway } from './further-gateway.ts'
import { findReverseProxy, type Kind, type Replicas, type ReverseProxy, startReverseProxy } from './reverse-proxy.ts'

const kinds: Kind[] = ['nginx', 'haproxy']
const proxies = await Promise.all(kinds.map(async (kind) => ({ kind, found: await findProxy(kind) })))

describe('behind a reverse proxy', () => {
  let installation: Installation
  let realtime: string[]

  beforeAll(async () => {
    if (proxies.every(({ found }) => 'missing' in found)) return
    installation = await launch('cluster', {
      replicas: 2,
      env: {
        // The journeys sign in with an address alone. Without this setting, dev mode refuses requests that a proxy
        // forwards.
        PARLEY_AUTH_ALLOW_PUBLIC_DEV_MODE: 'true',
        PARLEY_SERVER_TRUSTED_PROXIES: '127.0.0.1',
        PARLEY_EVENTS_KEEP_ALIVE_SECONDS: '1',
      },
    })
    realtime = await realtimeAddresses(installation)
  })
  afterAll(() => installation?.discard())

  describe.for(proxies)('$kind', ({ kind, found }) => {
    const why = 'missing' in found ? ` (skipped: ${found.missing})` : ''
    describe.skipIf(why !== '')(`with the file in deploy/proxy${why}`, () => {
      let further: FurtherGateway
      let gateways: string[]
      let proxy: ReverseProxy
      const start = (to: Replicas, name: string) => startReverseProxy(kind, found as Program, to, directory(name))
      const directory = (name: string) => path.join(installation.directory, `${kind}-${name}`)

      beforeAll(async () => {
        further = await startFurtherGateway(installation)
        gateways = [new URL(installation.baseUrl).host, further.address]
        proxy = await start({ gateways, events: gateways }, 'gateways')
      })
      afterAll(async () => {
        await proxy?.stop()
        await further?.kill()
      })

      const server = createTestServer(() => installation, { baseUrl: () => proxy.baseUrl, mark: kind })
      describe('sessions', () => sessionJourneys(server))
      describe('conversation', () => conversationJourneys(server))
      describe('listing', () => listingJourneys(server))
      describe('pairs and threads', () => talkJourneys(server))
      describe('streams', () => streamJourneys(server))

      test('the server’s keep-alive comments arrive too, and no token is in the log', async () => {
        const ann = await server.newcomer('ann')
        const stream = await fetch(`${proxy.baseUrl}/events?token=${ann.token}`)
        expect(stream.headers.get('content-type')).toMatch(/^text\/event-stream/)
        let text = ''
        for await (const chunk of stream.body!.pipeThrough(new TextDecoderStream())) {
          text += chunk
          if (/^:/m.test(text.slice(text.indexOf('CONNECTED')))) break
        }
        await expect.poll(proxy.log, { timeout: 10_000 }).toContain('GET /events 200')
        expect(await proxy.log()).not.toContain(ann.token)
      })

      test('a session is listed with the client’s address, whatever headers the client sends', async () => {
        const lies = {
          'x-forwarded-for': '203.0.113.9',
          'x-real-ip': '203.0.113.9',
          forwarded: 'for=203.0.113.9',
        }
        // The gateway trusts 127.0.0.1, the proxy, and no other address.
        for (const [baseUrl, headers] of [
          [proxy.baseUrl, {}],
          [proxy.baseUrl, lies],
          [installation.baseUrl, lies],
        ] as const) {
          const email = `${server.unique('far')}@example.com`
          const token = await signInFrom('127.0.0.9', baseUrl, email, headers)
          const person = new Person(proxy.baseUrl, { id: '', userName: '' }, token)
          const { sessions } = (await person.get('/auth/sessions')).body
          expect(sessions.map(({ ip }: { ip: string }) => ip)).toEqual(['127.0.0.9'])
        }
      })

      test('a response has the headers of the gateway, and no others', async () => {
        const ann = await server.newcomer('ann')
        const bearer = { authorization: `Bearer ${ann.token}` }
        const { filename } = await ann.uploads('notes.txt', samples.txt)
        const asked: [string, string, Record<string, string>][] = [
          ['GET', '/config.json', {}],
          ['HEAD', '/config.json', {}],
          ['GET', '/openapi.json', {}],
          ['GET', '/auth/me', {}],
          ['GET', '/auth/me', bearer],
          ['GET', '/channels', bearer],
          ['GET', `/files/${filename}`, { ...bearer, origin: 'https://elsewhere.example.org' }],
          ['GET', `/files/${filename}`, { ...bearer, range: 'bytes=1-3' }],
          [
            'OPTIONS',
            '/channels',
            { origin: 'https://elsewhere.example.org', 'access-control-request-method': 'POST' },
          ],
          ['GET', '/nowhere', bearer],
        ]
        for (const [method, path, headers] of asked) {
          const [here, there] = await Promise.all(
            [proxy.baseUrl, installation.baseUrl].map((at) =>
              fetch(at + path, { method, headers, redirect: 'manual' }),
            ),
          )
          expect(here!.status, `${method} ${path}`).toBe(there!.status)
          expect(endToEnd(here!.headers), `${method} ${path}`).toEqual(endToEnd(there!.headers))
          expect(withoutIds(await here!.text())).toBe(withoutIds(await there!.text()))
        }
      })

      test('a request that two servers could read differently reaches no service', async () => {
        const ambiguous = {
          'two hosts': 'GET /config.json HTTP/1.1\r\nHost: one.example.org\r\nHost: two.example.org\r\n\r\n',
          'an unknown transfer coding':
            'POST /auth/refresh HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n',
          'two lengths': 'POST /auth/refresh HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{} ',
          'a length and chunks':
            'POST /auth/refresh HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
        }
        for (const [what, bytes] of Object.entries(ambiguous)) {
          // For an unknown transfer coding HAProxy responds with 422 and nginx with 501.
          expect(await statusOf(proxy.baseUrl, bytes), what).toMatch(/^(400|422|501)$/)
        }
        expect((await Person.nobody(proxy.baseUrl).get('/config.json')).status).toBe(200)
      })

      test('unread downloads of one person do not delay others', async () => {
        const [mallory, ann] = [await server.newcomer('mallory'), await server.newcomer('ann')]
        const channel = await ann.creates({ name: server.unique('unread') })
        const { filename } = await mallory.uploads('large.txt', Buffer.alloc(20 * 1024 * 1024, 'x'))
        const { hostname, port } = new URL(proxy.baseUrl)
        const sockets = Array.from({ length: 60 }, () => {
          const socket = connect(Number(port), hostname).on('error', () => {})
          socket.write(`GET /files/${filename} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${mallory.token}\r\n\r\n`)
          return socket.pause()
        })
        try {
          await Promise.all(sockets.map((socket) => once(socket, 'connect')))
          for (let n = 0; n < 10; n++) {
            await ann.says(`${n}`, channel)
            expect((await ann.get(`/channels/${channel.id}/messages`)).body.messages).toHaveLength(n + 1)
          }
          expect((await ann.get(`/files/${filename}`)).status).toBe(403)
        } finally {
          for (const socket of sockets) socket.destroy()
        }
        const whole = await fetch(`${proxy.baseUrl}/files/${filename}`, {
          headers: { authorization: `Bearer ${mallory.token}` },
        })
        expect((await whole.arrayBuffer()).byteLength).toBe(20 * 1024 * 1024)
      })

      test('a large body gets the response of the process that has to check it', async () => {
        const ann = await server.newcomer('ann')
        const channel = await ann.creates({ name: server.unique('large') })
        const body = (megabytes: number) => JSON.stringify({ content: 'x'.repeat(megabytes * 1024 * 1024) })
        const tooLarge = { status: 413, body: { error: expect.any(String), code: 'body_too_large' } }

        expect(await ann.post(`/channels/${channel.id}/messages`, body(30))).toMatchObject(tooLarge)
        expect(await ann.post('/files', body(41))).toMatchObject(tooLarge)
        const asUpload = await ann.post('/files', body(30))
        expect(asUpload.body).toBeTypeOf('object')
        expect(asUpload.status).toBeLessThan(500)
        expect((await ann.get('/auth/me')).status).toBe(200)
      })

      test('streams can go straight to realtime', async () => {
        const straight = await start({ gateways, events: realtime }, 'straight')
        try {
          const { baseUrl } = straight
          const [ann, bob] = await Promise.all(
            ['ann', 'bob'].map((name) => Person.signIn(baseUrl, `${server.unique(name)}@example.com`)),
          )
          const first = await bob!.opensStream()
          const channel = await ann!.creates({ name: server.unique('straight') })
          await first.waitFor('NEW_CHANNEL', { id: channel.id })
          await first.close()
          const { id } = await ann!.says('missed', channel)
          const again = await bob!.opensStream(first.cursor)
          expect(again.connected.payload.resumed).toBe(true)
          await again.waitFor('NEW_MESSAGE', { id })
          await again.close()
          await expect(Person.nobody(baseUrl).opensStream()).rejects.toMatchObject({ status: 401 })
        } finally {
          await straight.stop()
        }
      })

      test('a gateway that is killed costs no request after it, and its streams resume at another', async () => {
        const [ann, bob] = [await server.newcomer('ann'), await server.newcomer('bob')]
        const channel = await ann.creates({ name: server.unique('killed') })
        const streams = await Promise.all(Array.from({ length: 6 }, () => bob.opensStream()))
        const ends = streams.map((stream) => stream.ended.then(() => stream))
        await further.kill()

        const cut = await Promise.race(ends)
        const statuses: number[] = []
        for (let n = 0; n < 10; n++) {
          statuses.push((await ann.get('/auth/me')).status, (await ann.post('/channels', named(server))).status)
        }
        expect(statuses).toEqual(Array(20).fill(200))
        const { id } = await ann.says('after', channel)
        const again = await bob.opensStream(cut.cursor)
        expect(again.connected.payload.resumed).toBe(true)
        await again.waitFor('NEW_MESSAGE', { id })
        await Promise.all([again, ...streams].map((stream) => stream.close()))
      })

      test('with its lines for TLS it accepts HTTP/2, and sends other clients there', async () => {
        const key = createCertifiedKey()
        const secured = await startReverseProxy(
          kind,
          found as Program,
          { gateways, events: gateways },
          directory('tls'),
          key,
        )
        try {
          const address = `https://127.0.0.1:${secured.tlsPort}`
          expect(await statusByHttp2(address, '/health', key.certificate)).toBe(200)
          const redirected = await fetch(`${secured.baseUrl}/config.json?token=secret`, { redirect: 'manual' })
          expect(redirected.status).toBe(301)
          expect(redirected.headers.get('location')).toMatch(/^https:.*\/config\.json\?token=secret$/)
          await expect.poll(secured.log).toContain('GET /config.json 301')
          expect(await secured.log()).not.toContain('secret')
        } finally {
          await secured.stop()
        }
      })

      test('without any gateway the refusal still has a sentence and a Retry-After', async () => {
        const nowhere = [further.address, further.address]
        const lost = await start({ gateways: nowhere, events: nowhere }, 'lost')
        try {
          const response = await Person.nobody(lost.baseUrl).get('/config.json')
          expect(response).toMatchObject({ status: 503, body: { error: expect.any(String), code: 'unavailable' } })
          expect(response.headers['retry-after']).toBe('1')
        } finally {
          await lost.stop()
        }
      })
    })
  })
})

/** The tests inspect the gateways through /proc, which only Linux has. */
async function findProxy(kind: Kind): Promise<Program | { missing: string }> {
  return process.platform === 'linux' ? findReverseProxy(kind) : { missing: 'there is no /proc' }
}

/** The headers of a response that concern the client, without those of a single connection or response. */
function endToEnd(headers: Headers): Record<string, string> {
  const ofOne = new Set([
    'connection',
    'keep-alive',
    'transfer-encoding',
    'content-length',
    'date',
    'x-request-id',
    'server',
  ])
  return Object.fromEntries([...headers].filter(([name]) => !ofOne.has(name)))
}

/** Refusals have the id of their request. */
const withoutIds = (text: string) => text.replace(/"requestId":"[^"]*"/, '')

/** The status of the response to these bytes. */
async function statusOf(baseUrl: string, bytes: string): Promise<string | undefined> {
  const { hostname, port } = new URL(baseUrl)
  const socket = connect(Number(port), hostname)
  socket.write(bytes, 'latin1')
  const [answer] = (await once(socket.setEncoding('latin1'), 'data')) as [string]
  socket.destroy()
  return /^HTTP\/1\.1 (\d+) /.exec(answer)?.[1]
}

const named = (server: { unique(name: string): string }) => ({ name: server.unique('any') })

/** Signs in from another address of this machine. */
async function signInFrom(localAddress: string, baseUrl: string, email: string, headers: object): Promise<string> {
  const request = http.request(`${baseUrl}/auth/dev-login`, {
    method: 'POST',
    localAddress,
    agent: false,
    headers: { 'content-type': 'application/json', ...headers },
  })
  const answered = new Promise<http.IncomingMessage>((resolve, reject) => {
    request.once('response', resolve).once('error', reject)
  })
  request.end(JSON.stringify({ email }))
  let text = ''
  for await (const chunk of (await answered).setEncoding('utf8')) text += chunk
  return JSON.parse(text).token
}

/** The status of a GET by HTTP/2, with a server that has this certificate. */
async function statusByHttp2(address: string, path: string, ca: string): Promise<number> {
  const session = http2.connect(address, { ca, checkServerIdentity: () => undefined })
  try {
    const request = session.request({ ':path': path })
    const [headers] = await once(request, 'response')
    return headers[':status']
  } finally {
    session.destroy()
  }
}
