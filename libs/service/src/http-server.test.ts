import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import type { Config, DeepPartial } from '@parley/config'
import { carryConnections, protocol } from '@parley/multiplex'
import { configWithoutServers } from '@parley/test'
import { Type } from 'typebox'
import { expect, onTestFinished, test } from 'vitest'
import { buildApp, openDeps } from './index.ts'

test.each([
  ['no Host', 'GET /health HTTP/1.1\r\nConnection: close\r\n\r\n', 400],
  ['an expectation of its own', request('Expect: the-moon'), 400],
  ['headers without end', request(`X-Much: ${'x'.repeat(20_000)}`), 400],
  ['two lengths', request('Content-Length: 1\r\nTransfer-Encoding: chunked'), 400],
  ['two Hosts', request('Host: localhost'), 400],
  ['a transfer coding that we do not know', request('Transfer-Encoding: gzip, chunked'), 400],
  ['no request at all', 'hello\r\n\r\n', 400],
  ['an address that does not decode', request('', '/things/%zz'), 400],
  ['an id of the wrong form', request('', `/things/${'x'.repeat(201)}`), 404],
  ['an id that is too long for any', request('', `/things/${'x'.repeat(4_000)}`), 404],
])('%s is refused with a sentence', async (_what, sent, status) => {
  const { head, body } = await exchange(await listening(), sent)
  expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
  expect(JSON.parse(body)).toMatchObject({ error: expect.any(String) })
})

test.each([
  ['gzip', 415],
  ['identity, X-GZIP', 415],
  ['br', 415],
  ['identity', 200],
  ['utf-8', 200],
])('a body with the header Content-Encoding: %s gets %i', async (coding, status) => {
  const body = '{"name":"x"}'
  const headers = `Content-Encoding: ${coding}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}`
  const refused = await exchange(await listening(), request(headers, '/things').replace('GET', 'POST') + body)
  expect(refused.head).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
  if (status === 200) return
  expect(refused.head).toMatch(/^accept-encoding: identity\r?$/im)
  expect(JSON.parse(refused.body)).toMatchObject({ code: 'body_compressed', error: expect.any(String) })
})

test('a client may use Expect: 100-continue', async () => {
  const { head } = await exchange(await listening(), request('Expect: 100-continue'))
  expect(head).toMatch(/^HTTP\/1.1 100 /)
})

test.each([
  ['without', '', 200],
  ['with', '\\u0000', 400],
])('a deeply nested body is read %s U+0000 in it', async (_what, text, status) => {
  const depth = 50_000
  const body = `{"a":"\\\\u0000","b":${'['.repeat(depth)}"${text}"${']'.repeat(depth)}}`
  const headers = `Content-Type: application/json\r\nContent-Length: ${body.length}`
  const { head } = await exchange(await listening(), request(headers, '/things').replace('GET', 'POST') + body)
  expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
})

test('a client that sends its whole body before it reads gets the 413, and its next request is answered', async () => {
  const socket = connect(await listening(), '127.0.0.1')
  const asked = `GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`
  const failed = once(socket, 'error').then(([error]) => Promise.reject(error))
  const body = 'x'.repeat(20_000_000)
  socket.write(`POST /things HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length}\r\n\r\n`)
  const sent = new Promise<void>((resolve) => socket.write(body, () => resolve()))
  await Promise.race([sent, failed])
  socket.write(asked)
  const received = await Promise.race([text(socket), failed])
  expect(received.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 413', 'HTTP/1.1 200'])
})

test.each([
  ['a broken body', 'application/json', '{"name":', 400],
  ['a body that is no JSON', 'text/plain', 'name=x', 400],
  ['a body that is right', 'application/json', '{"name":"x"}', 200],
])('%s leaves its connection open for the next request', async (_what, type, body, status) => {
  const socket = connect(await listening(), '127.0.0.1')
  const host = 'Host: localhost\r\n'
  socket.write(`POST /things HTTP/1.1\r\n${host}Content-Type: ${type}\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
  socket.write(`GET /health HTTP/1.1\r\n${host}Connection: close\r\n\r\n`)
  expect((await text(socket)).match(/HTTP\/1\.1 \d+/g)).toEqual([`HTTP/1.1 ${status}`, 'HTTP/1.1 200'])
})

test('in dev mode a service behind the gateway refuses a foreign host name too', async () => {
  const foreign = request('', '/health').replace('localhost', 'evil.example')
  expect((await exchange(await listening(), foreign)).head).toMatch(/^HTTP\/1.1 403 /)
  expect((await exchange(await listening(), request('', '/health'))).head).toMatch(/^HTTP\/1.1 200 /)

  const withPassword = { authMode: 'password' } as const
  const port = await listening({ auth: withPassword, chat: { initialUser: { password: 'long enough' } } })
  expect((await exchange(port, foreign)).head).toMatch(/^HTTP\/1.1 200 /)
})

test.each(['/health', '/health/live', '/health/ready'])('%s answers HEAD like GET', async (path) => {
  const { head, body } = await exchange(await listening(), request('', path).replace('GET', 'HEAD'))
  expect(head).toMatch(/^HTTP\/1.1 200 /)
  expect(body).toBe('')
})

test('health checks are not measured, because they would hide slow and failed requests', async () => {
  const { port, metrics } = await opened()
  for (const path of ['/health', '/health/live', '/health/ready', '/things/1', '/nowhere'])
    await exchange(port, request('', path))
  await exchange(port, request('', '/health/live').replace('GET', 'HEAD'))
  const measured = [
    ...(await metrics.text()).matchAll(/^http_server_request_duration_seconds_count\{.*http_route="(.*?)"/gm),
  ]
  expect(measured.map(([, route]) => route).sort()).toEqual(['/things/:id', 'unknown'])
})

test.each([
  ['edge', 'inside', false],
  ['edge', 'always', true],
  ['inside', 'inside', true],
  ['inside', 'never', false],
] as const)(
  'a traceparent that is sent to the %s is continued with continueTraces %s: %s',
  async (position, continueTraces, isKept) => {
    const { port } = await opened({ server: { continueTraces } }, position)
    const sent = request('traceparent: 00-1-2-01\r\ntracestate: a=b\r\nbaggage: user=1', '/trace-headers')
    const { body } = await exchange(port, sent)
    expect(JSON.parse(body)).toEqual(isKept ? { traceparent: '00-1-2-01', tracestate: 'a=b', baggage: 'user=1' } : {})
  },
)

test('a service accepts carried connections, and answers their open requests when it stops', async () => {
  const { port, fastify, answer } = await opened()
  const socket = connect(port, '127.0.0.1')
  socket.write(`GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n\r\n`)
  const [head] = (await once(socket, 'data')) as [Buffer]
  expect(head.toString()).toMatch(/^HTTP\/1\.1 101 /)

  const carrier = carryConnections(socket)
  const [idle, busy] = [carrier.open(), carrier.open()]
  idle.write('GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n')
  expect(String((await once(idle, 'data'))[0])).toMatch(/^HTTP\/1\.1 200 /)
  busy.write('GET /later HTTP/1.1\r\nHost: localhost\r\n\r\n')
  const response = text(busy)
  await expect.poll(() => answer.isAsked).toBe(true)

  const closed = fastify.close()
  await expect.poll(() => carrier.canOpen).toBe(false)
  answer.give()
  expect(await response).toMatch(/^HTTP\/1\.1 200 [\s\S]*\r\n\r\nlater$/)
  await closed
})

test('the gateway accepts no carrier from its clients', async () => {
  const { port } = await opened({}, 'edge')
  const { head } = await exchange(port, request(`Upgrade: ${protocol}`).replace('close', 'close, Upgrade'))
  expect(head).toMatch(/^HTTP\/1\.1 200 /)
})

function request(headers: string, path = '/health') {
  return `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${headers}${headers && '\r\n'}\r\n`
}

/** Starts an app with position `inside` and three more routes, without servers behind it. Returns its port. */
const listening = async (settings: DeepPartial<Config> = {}) => (await opened(settings)).port

async function opened(settings: DeepPartial<Config> = {}, position: 'inside' | 'edge' = 'inside') {
  const { deps, close } = openDeps('test', await configWithoutServers(settings))
  const { fastify } = await buildApp({ deps, checks: {}, position })
  const schema = { params: Type.Object({ id: Type.String({ maxLength: 200 }) }) }
  fastify.get('/things/:id', { schema, config: { access: 'none' } }, async () => 'a thing')
  fastify.get('/trace-headers', { config: { access: 'none' } }, async ({ headers }) => {
    const { traceparent, tracestate, baggage } = headers
    return { traceparent, tracestate, baggage }
  })
  const answer = { isAsked: false, give: () => {} }
  fastify.get('/later', { config: { access: 'none' } }, async () => {
    answer.isAsked = true
    await new Promise<void>((resolve) => {
      answer.give = resolve
    })
    return 'later'
  })
  fastify.post('/things', { config: { access: 'none' } }, async () => 'a new thing')
  await fastify.listen({ host: '127.0.0.1', port: 0 })
  onTestFinished(() => fastify.close().then(close))
  return { port: (fastify.server.address() as AddressInfo).port, metrics: deps.metrics, fastify, answer }
}

async function exchange(port: number, sent: string) {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  socket.write(sent)
  const [head = '', body = ''] = (await text(socket)).split('\r\n\r\n')
  return { head, body }
}
