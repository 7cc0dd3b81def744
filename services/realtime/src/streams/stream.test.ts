import { once } from 'node:events'
import http from 'node:http'
import net from 'node:net'
import { EventStream, type StreamRefused } from '@parley/test'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Member, openTestServer, type TestNode, type TestServer } from '../testing/test-server.ts'

let server: TestServer
let node: TestNode
let ann: Member

beforeAll(async () => {
  server = await openTestServer()
  node = await server.startNode({ maxStreamsPerUser: 2, keepAliveSeconds: 1 })
  ann = await server.addMember('ann')
})
afterAll(() => server.close())

/** The response as it arrives on the wire, until `enough` returns true. */
function read(path: string, headers: Record<string, string>, enough: (body: string) => boolean) {
  return new Promise<{ status: number | undefined; headers: http.IncomingHttpHeaders; body: string }>(
    (resolve, reject) => {
      const request = http.get(node.url + path, { agent: false, headers }, (response) => {
        let body = ''
        const answer = () => resolve({ status: response.statusCode, headers: response.headers, body })
        response.setEncoding('utf8').on('data', (text: string) => {
          body += text
          if (!enough(body)) return
          answer()
          request.destroy()
        })
        response.on('end', answer)
      })
      request.on('error', reject)
    },
  )
}
const isGreeted = (body: string) => body.includes('id: ')

describe('GET /events', () => {
  test('returns a stream that begins with CONNECTED and a cursor', async () => {
    const { status, headers, body } = await read(`/events?token=${ann.token}`, {}, isGreeted)

    expect(status).toBe(200)
    expect(headers).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    })
    // On a busy machine the first presence update may have arrived as well.
    const [, data] = /^retry: \d+\n\ndata: (.*)\nid: \w+\.\d+\n\n/.exec(body) ?? []
    expect(JSON.parse(data!)).toEqual({
      type: 'CONNECTED',
      payload: {
        message: expect.any(String),
        timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
        userId: ann.id,
        connectionId: expect.any(String),
        resumed: false,
        role: 'member',
      },
    })
  })

  test('accepts the token in the Authorization header too', async () => {
    const stream = await node.open(ann)
    expect(stream.connected.payload).toMatchObject({ userId: ann.id, resumed: false })
    await stream.close()
  })

  test.each([
    ['no token', async () => ''],
    ['a malformed token', async () => '?token=nonsense'],
    [
      'a token of an ended session',
      async () => {
        const { sessionId, token } = await server.addSession(ann.id)
        await server.db.updateTable('sessions').set({ endedAt: Date.now() }).where('id', '=', sessionId).execute()
        return `?token=${token}`
      },
    ],
    ['a token of an expired session', async () => `?token=${(await server.addSession(ann.id, -1)).token}`],
    [
      'a token of somebody removed',
      async () => {
        const { id, token } = await server.addMember('gone')
        await server.db.updateTable('users').set({ removedAt: Date.now() }).where('id', '=', id).execute()
        return `?token=${token}`
      },
    ],
  ])('refuses %s', async (_what, query) => {
    const { status, body } = await read(`/events${await query()}`, {}, () => false)
    expect({ status, body: JSON.parse(body) }).toEqual({
      status: 401,
      body: expect.objectContaining({ error: expect.any(String) }),
    })
  })

  test('refuses a token given twice', async () => {
    expect((await read('/events?token=a&token=b', {}, () => false)).status).toBe(400)
  })

  test('notices at once that a client has left, and frees its slot', async () => {
    const member = await server.addMember('limited')
    const streams = [await node.open(member), await node.open(member)]
    const refused = await read('/events', { authorization: `Bearer ${member.token}` }, () => false)
    expect(refused).toMatchObject({ status: 429, headers: { 'retry-after': expect.stringMatching(/^\d+$/) } })

    await streams[0]!.close()
    const another = await eventually(
      () => node.open(member),
      (error) => (error as StreamRefused).status === 429,
    )
    for (const stream of [another, streams[1]!]) await stream.close()
  })

  test('a full node responds with 503 with Retry-After', async () => {
    const full = await server.startNode({ maxStreams: 1 })
    const stream = await full.open(ann)
    const response = await fetch(`${full.url}/events`, { headers: { authorization: `Bearer ${ann.token}` } })
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '5'])
    await stream.close()
  })

  test('keeps an idle stream alive with comments', async () => {
    const { body } = await read(`/events?token=${ann.token}`, {}, (text) =>
      text.includes('\n: keep-alive\n\n: keep-alive\n\n'),
    )
    expect(body).toMatch(/\n\n: keep-alive\n\n/)
  })

  test('serves a client that reuses a connection and sends more than its request', async () => {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
    await new Promise((resolve) =>
      http.get(`${node.url}/health`, { agent }, (response) => response.resume().on('end', resolve)),
    )
    const greeted = await new Promise<string>((resolve, reject) => {
      const request = http.request(`${node.url}/events?token=${ann.token}`, { agent }, (response) => {
        request.socket!.write('GET /health HTTP/1.1\r\nhost: x\r\n\r\n')
        let body = ''
        response.setEncoding('utf8').on('data', (text: string) => {
          body += text
          if (!body.includes(': keep-alive')) return
          resolve(body)
          request.destroy()
        })
      })
      request.on('error', reject).end()
    })
    expect(greeted).not.toContain('HTTP/1.1')
    agent.destroy()
  })

  test('ends both streams of a client that requested two on one connection and left', async () => {
    const first = await node.open(ann)
    const unknown = `${first.cursor!.split('.')[0]}.999999999`
    await first.close()
    // The person has no other stream, also none whose end was not noticed yet, because the limit is two.
    const { token } = await server.addMember('twice')
    const ask = (cursor: string) =>
      `GET /events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nLast-Event-ID: ${cursor}\r\n\r\n`
    const { hostname, port } = new URL(node.url)
    const socket = net.connect(Number(port), hostname)
    // The second request takes longer, because the database is queried for the cursor.
    socket.write(ask('nonsense') + ask(unknown))
    await once(socket.resume(), 'close')

    await expect.poll(() => node.reads('parley_streams_open')).toBe(0)
  })

  test('no token is ever logged', async () => {
    await read(`/events?token=${ann.token}`, {}, isGreeted)
    await read(`/events?token=${ann.token}x`, {}, () => false)
    await read(`/events?token=${ann.token}&token=${ann.token}`, {}, () => false)
    expect(node.logged()).toContain('request refused')
    expect(node.logged()).not.toContain(ann.token.split('.')[2])
  })
})

describe('a node that stops', () => {
  test('ends its streams and refuses new ones; clients resume on another node', async () => {
    const stopping = await server.startNode({ drainSeconds: 1 })
    const streams = await Promise.all(Array.from({ length: 20 }, () => stopping.open(ann)))
    const stopped = stopping.stop()
    await Promise.all(streams.map(({ ended }) => ended))
    await stopped

    await expect(EventStream.open({ baseUrl: stopping.url, token: ann.token })).rejects.toThrow()
    const resumed = await node.open(ann, streams[0]!.cursor)
    expect(resumed.connected.payload.resumed).toBe(true)
    await resumed.close()
  })
})

/** The server notices a closed connection after a while. */
async function eventually<T>(act: () => Promise<T>, isExpected: (error: unknown) => boolean): Promise<T> {
  for (;;) {
    try {
      return await act()
    } catch (error) {
      if (!isExpected(error)) throw error
    }
  }
}
