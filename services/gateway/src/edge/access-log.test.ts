import { once } from 'node:events'
import { connect } from 'node:net'
import { request } from 'undici'
import { describe, expect, test } from 'vitest'
import { startGateway, startUpstream } from '../gateway.testing.ts'

const on = { log: { level: 'silent', access: true } } as const

/** Waits for this number of lines in the access log, and returns them. */
async function linesOf({ logged }: Awaited<ReturnType<typeof startGateway>>, count: number) {
  const lines = () => logged().filter(({ msg }) => msg === 'request')
  await expect.poll(() => lines().length, { interval: 5 }).toBe(count)
  return lines()
}

describe('the access log', () => {
  test('has one line for each request, also for a refused one, without tokens and queries', async () => {
    const upstream = await startUpstream()
    const gateway = await startGateway({ directory: [upstream.url], realtime: [upstream.url] }, on)
    const { url, authorized, token } = gateway
    const headers = { ...authorized, 'user-agent': 'a browser' }
    const response = await request(`${url}/users?limit=2&q=secret+words`, { headers })
    await response.body.dump()
    await fetch(`${url}/events?token=${token}`).then((stream) => stream.text())
    await fetch(`${url}/users`).then((refused) => refused.text())
    await fetch(`${url}/nothing/here?token=${token}`, { headers }).then((missing) => missing.text())
    await fetch(`${url}/%zz?token=${token}`).then((malformed) => malformed.text())
    await fetch(`${url}/c/%?token=${token}`, { headers: { accept: 'text/html' } }).then((page) => page.text())

    const lines = await linesOf(gateway, 6)
    expect(lines[0]).toEqual({
      level: 'info',
      time: expect.any(String),
      service: 'gateway',
      pid: process.pid,
      msg: 'request',
      requestId: response.headers['x-request-id'],
      method: 'GET',
      path: '/users',
      route: '/users',
      status: 200,
      isComplete: true,
      durationMs: expect.any(Number),
      bytesSent: expect.any(Number),
      clientAddress: '127.0.0.1',
      userId: 'ann',
      userAgent: 'a browser',
    })
    expect(lines[0].bytesSent).toBeGreaterThan(100)
    expect(lines.slice(1)).toMatchObject([
      { path: '/events', status: 200 },
      { path: '/users', status: 401 },
      { path: '/nothing/here', status: 404 },
      { path: '/%zz', status: 400 },
      { path: '/c/%', status: 404 },
    ])
    expect(JSON.stringify(gateway.logged())).not.toMatch(new RegExp(`${token}|secret|limit=`))
  })

  test('has a line for a client that left before the response', async () => {
    const asked = Promise.withResolvers<void>()
    const upstream = await startUpstream(() => asked.resolve())
    const gateway = await startGateway({ directory: [upstream.url] }, on)
    const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1')
    await once(socket, 'connect')
    socket.write(`GET /users HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${gateway.token}\r\n\r\n`)
    await asked.promise
    socket.destroy()

    const [line] = await linesOf(gateway, 1)
    expect(line).toMatchObject({ path: '/users', isComplete: false })
    expect(line).not.toHaveProperty('status')
  })

  test('is off unless it is switched on', async () => {
    const upstream = await startUpstream()
    const gateway = await startGateway({ directory: [upstream.url] })
    await fetch(`${gateway.url}/users`, { headers: gateway.authorized }).then((response) => response.text())
    await gateway.stop()
    expect(gateway.logged().filter(({ msg }) => msg === 'request')).toEqual([])
  })
})
