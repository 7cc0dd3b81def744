import { once } from 'node:events'
import type { RequestListener, ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { startGateway, startUpstream } from '../gateway.testing.ts'

/** More than the number of connections from the gateway to a replica. */
const many = 140
const megabyte = Buffer.alloc(1024 * 1024)

test('a body that never arrives holds no connection to a service and is refused', async () => {
  const { url, authorized, upstream } = await scene({ server: { bodySeconds: 4 } })
  const unfinished = 'Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n'
  const sockets = Array.from({ length: many }, (_, n) =>
    send(url, n % 2 ? 'POST /auth/password-login' : 'POST /channels/1/messages', authorized, unfinished),
  )
  const answers = Promise.all(sockets.map(async (socket) => String((await once(socket, 'data'))[0])))
  await Promise.all(sockets.map((socket) => once(socket, 'connect')))

  await expectOthersServed(url, authorized)
  // The client of this request has many unfinished bodies already, and the body arrives after the head.
  const late = send(url, 'POST /auth/password-login', authorized, 'Content-Length: 2\r\nExpect: 100-continue\r\n\r\n')
  await once(late, 'data')
  late.write('{}')
  expect(String((await once(late, 'data'))[0])).toMatch(/^HTTP\/1\.1 200 /)
  expect(upstream.seen.map((request) => request.url)).not.toContain('/channels/1/messages')
  const statuses = new Set((await answers).map((answer) => answer.split(' ')[1]))
  expect(statuses).toEqual(new Set(['408']))
})

test('a slow upload may continue, and a stalled one is ended', async () => {
  const { url, authorized } = await scene({ server: { bodySeconds: 1, bodyBytesPerSecond: 1_000 } })
  const upload = () => send(url, 'POST /files', authorized, 'Content-Length: 600000\r\n\r\n')
  const [going, stopping] = [upload(), upload()]
  const answers = Promise.all([going, stopping].map((socket) => text(socket.resume())))
  const part = 'x'.repeat(60_000)
  stopping.write(part)
  for (let n = 0; n < 10; n++) {
    going.write(part)
    await delay(300)
  }
  going.end()
  const [gone, stopped] = await answers
  expect(gone).toMatch(/^HTTP\/1\.1 200 /)
  expect(stopped).toMatch(/^HTTP\/1\.1 408 [\s\S]*x-content-type-options: nosniff[\s\S]*"request_timeout"/)
})

test('a download that its client does not read delays nothing else and is ended', async () => {
  const { url, authorized, authorizedAs, cut } = await scene({ server: { unreadSeconds: 1 } }, endless)
  const sockets = Array.from({ length: many }, () => send(url, 'GET /files/large.zip', authorized, '\r\n').pause())
  await Promise.all(sockets.map((socket) => once(socket, 'connect')))

  await expectOthersServed(url, authorized)
  const other = send(url, 'GET /files/large.zip', await authorizedAs('bob'), '\r\n')
  await once(other, 'data')
  await expect.poll(() => cut('unread_reply')).toBeGreaterThanOrEqual(32)
})

test('downloads of one person beyond the limit wait in a queue', async () => {
  const begun: (() => void)[] = []
  const { url, authorized } = await scene({ server: { downloadsPerPerson: 2 } }, (_request, response) => {
    begun.push(() => response.end('a file'))
  })
  const downloads = Array.from({ length: 4 }, () => fetch(`${url}/files/a.txt`, { headers: authorized }))
  await expect.poll(() => begun.length).toBe(2)
  const left = send(url, 'GET /files/a.txt', authorized, '\r\n')
  await once(left, 'connect')
  left.destroy()
  for (let n = 0; n < 4; n++) {
    await expect.poll(() => begun.length).toBeGreaterThan(n)
    expect(begun.length).toBeLessThanOrEqual(n + 2)
    begun[n]!()
    await Promise.any(downloads)
  }
  const responses = await Promise.all(downloads)
  expect(await Promise.all(responses.map((response) => response.text()))).toEqual(Array(4).fill('a file'))
})

test('a response that its client does not read is taken from its service at once, and then ended', async () => {
  const taken = Promise.withResolvers<void>()
  const { url, authorized, cut } = await scene({ server: { unreadSeconds: 1 } }, (_request, response) => {
    response.once('finish', taken.resolve)
    response.end(Buffer.concat(Array(30).fill(megabyte)))
  })
  send(url, 'GET /channels/1/messages', authorized, '\r\n').pause()
  await taken.promise
  await expect.poll(() => cut('unread_reply')).toBe(1)
})

test('a stream that its client does not read is ended on both sides, and the streams of one person are limited', async () => {
  const streams = new Set<ServerResponse>()
  const { url, authorized, cut } = await scene(
    { server: { unreadSeconds: 1 }, events: { maxStreamsPerUser: 3 } },
    (request, response) => {
      streams.add(response)
      response.once('close', () => streams.delete(response))
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      endless(request, response)
    },
  )
  for (let n = 0; n < 3; n++) send(url, 'GET /events', authorized, '\r\n').pause()
  await expect.poll(() => streams.size).toBe(3)
  const refused = await fetch(`${url}/events`, { headers: authorized })
  expect([refused.status, await refused.json()]).toMatchObject([429, { error: expect.any(String) }])

  await expect.poll(() => cut('unread_reply')).toBe(3)
  await expect.poll(() => streams.size).toBe(0)
  const again = await fetch(`${url}/events`, { headers: authorized })
  expect(again.status).toBe(200)
  await again.body!.cancel()
})

/** A response that never ends. It pauses while nobody reads. */
const endless: RequestListener = (_request, response) => {
  const go = () => {
    while (!response.destroyed && response.write(megabyte));
    response.once('drain', go)
  }
  go()
}
/** A gateway in front of one upstream for everything, or of `slow` for files, messages and streams. */
async function scene(settings: Parameters<typeof startGateway>[1], slow?: RequestListener) {
  const upstream = await startUpstream()
  const slowly = slow ? await startUpstream(slow) : upstream
  const gateway = await startGateway(
    { auth: [upstream.url], directory: [upstream.url], messaging: [slowly.url], realtime: [slowly.url] },
    settings,
  )
  const authorizedAs = async (userId: string) => {
    const token = await gateway.deps.tokens.issueAccess({ userId, sessionId: userId, seconds: 60 })
    return { authorization: `Bearer ${token}` }
  }
  /**
   * The number of connections that the gateway has ended for this reason. A client that does not read does not notice.
   */
  const cut = async (reason: string) => {
    const metrics = await gateway.deps.metrics.text()
    return Number(new RegExp(`^parley_clients_cut_total\\{reason="${reason}".*?\\} (\\d+)`, 'm').exec(metrics)![1])
  }
  return { ...gateway, authorizedAs, cut, upstream }
}

function send(url: string, first: string, { authorization }: { authorization: string }, rest: string): Socket {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => {})
  socket.write(`${first} HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${authorization}\r\n${rest}`)
  return socket
}

async function expectOthersServed(url: string, headers: Record<string, string>) {
  const paths = ['/auth/me', '/users', '/channels/1/pins']
  const statuses = await Promise.all(paths.map(async (path) => (await fetch(url + path, { headers })).status))
  expect(statuses).toEqual([200, 200, 200])
}
