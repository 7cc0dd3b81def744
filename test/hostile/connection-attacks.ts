import { once } from 'node:events'
import net from 'node:net'
import { expect, test } from 'vitest'
import { exchange, expectRefusal, expectSanity } from './exchange.ts'
import { filled } from './routes.ts'
import type { TargetServer } from './target-server.ts'

export function connectionAttacks(server: TargetServer) {
  test('paths and methods that are none are refused', async () => {
    const paths = [
      '/%',
      '/%zz',
      '/%ff',
      '/..%2f..%2fetc/passwd',
      '//',
      '/channels//messages',
      '/docs/..%2f..%2fpackage.json',
      `/${'a/'.repeat(5_000)}`,
      '/channels/%2e%2e/users',
    ]
    const bearer = { authorization: `Bearer ${server.adminToken}` }
    for (const path of paths) {
      const answer = await exchange(server.baseUrl, { method: 'GET', path, headers: bearer })
      expectRefusal(answer, `GET ${path.slice(0, 60)}`)
    }
    for (const method of ['PATCH', 'TRACE', 'PROPFIND', 'QUERY']) {
      const { status } = await exchange(server.baseUrl, { method, path: '/channels', headers: bearer })
      expect(status, method).toBeGreaterThanOrEqual(400)
      expect(status, method).toBeLessThan(500)
    }
  })

  test('headers that mean nothing harm nothing', async () => {
    const bad = {
      authorization: [
        `Bearer ${'x'.repeat(7_000)}`,
        'Bearer',
        'Bearer a b',
        'Bearer eyJhbGciOiJub25lIn0.e30.',
        'bearer  ',
        'Bearer \u00ff',
      ],
    }
    for (const authorization of bad.authorization) {
      const answer = await exchange(server.baseUrl, {
        method: 'GET',
        path: '/auth/me',
        headers: { authorization },
      })
      expect(answer.status, authorization.slice(0, 60)).toBe(401)
      expectSanity(answer, authorization.slice(0, 60))
    }
    const sending = server.routes.find(({ name }) => name === 'POST /channels/{channelId}/messages')!
    for (const key of ['', ' ', 'x'.repeat(5_000), '\u00ff', 'a, b']) {
      const headers = {
        'content-type': 'application/json',
        authorization: `Bearer ${server.adminToken}`,
        'idempotency-key': key,
      }
      const request = { method: 'POST', path: filled(sending.path, server.known), headers, body: '{"content":"x"}' }
      expectSanity(await exchange(server.baseUrl, request), `Idempotency-Key ${key.slice(0, 20)}`)
    }
    const tooMany = { authorization: `Bearer ${server.adminToken}`, 'x-filler': 'x'.repeat(100_000) }
    expectRefusal(await exchange(server.baseUrl, { method: 'GET', path: '/channels', headers: tooMany }), 'headers')
  })

  test('data that is not HTTP is refused, and the connection ends', async () => {
    const { hostname, port } = new URL(server.baseUrl)
    const nonsense = [
      'nonsense\r\n\r\n',
      'GET /channels HTTP/9.9\r\n\r\n',
      `GET /${'x'.repeat(100_000)} HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`,
      `GET /\u00ff HTTP/1.1\r\nHost: ${hostname}\r\nA\u0000: b\r\n\r\n`,
      `POST /channels HTTP/1.1\r\nHost: ${hostname}\r\nContent-Length: -5\r\n\r\n`,
      `POST /channels HTTP/1.1\r\nHost: ${hostname}\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      `POST /channels HTTP/1.1\r\nHost: ${hostname}\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n`,
    ]
    for (const bytes of nonsense) {
      const socket = net.connect(Number(port), hostname)
      socket.write(bytes, 'latin1')
      let answer = ''
      for await (const chunk of socket.setEncoding('utf8')) answer += chunk
      expect(answer, bytes.slice(0, 80)).toMatch(/^HTTP\/1\.1 4\d\d [\s\S]*\r\n\r\n\{"error":"/)
    }
  })

  test('a body that does not say how long it is ends at the limit too', async () => {
    const { hostname, port } = new URL(server.baseUrl)
    const socket = net.connect(Number(port), hostname)
    socket.write(
      `POST /channels HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${server.adminToken}\r\n` +
        'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n',
    )
    const answered = once(socket.setEncoding('utf8'), 'data')
    const chunk = `10000\r\n${'x'.repeat(0x10000)}\r\n`
    // One byte more than the limit, and no more: a client that continues to write to a closed connection may lose the
    // response because of a reset.
    for (let sent = 0; sent < 17; sent++) {
      if (!socket.write(chunk)) await Promise.race([once(socket, 'drain'), answered])
    }
    const answer = String(await answered)
    socket.destroy()
    expect(answer).toMatch(/^HTTP\/1\.1 413 /)
  })
}
