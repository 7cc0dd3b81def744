import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import http from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { Person } from '@parley/test'
import { describe, expect, test } from 'vitest'
import type { Program } from '../src/debian-program.ts'
import { findReverseProxy, type Kind, startReverseProxy } from './reverse-proxy.ts'

const kinds: Kind[] = ['nginx', 'haproxy']
const proxies = await Promise.all(kinds.map(async (kind) => ({ kind, found: await findReverseProxy(kind) })))

/** The time of `libs/service/src/http-server.ts`. */
const keepAliveTimeout = 72_000

/** A server in place of the gateways. It counts the connections of the POST requests that it got. */
async function startGateway() {
  const used = new Set<Socket>()
  let closedHere = 0
  const server = http.createServer({ keepAliveTimeout }, ({ method, socket }, response) => {
    if (method === 'POST') {
      used.add(socket)
      socket.once('close', () => used.delete(socket))
    }
    response.end('{}')
  })
  server.on('timeout', (socket) => {
    closedHere++
    socket.destroy()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  return {
    address: `127.0.0.1:${port}`,
    open: () => used.size,
    closedHere: () => closedHere,
    close: () => void server.close().closeAllConnections(),
  }
}

describe.for(proxies)('$kind', ({ kind, found }) => {
  const why = 'missing' in found ? ` (skipped: ${found.missing})` : ''

  // A POST that is sent on a connection that the gateway closes at this moment gets no response, because it must not be repeated. HAProxy
  // keeps one connection to each of the two gateways.
  test.skipIf('missing' in found)(
    `closes idle connections before a gateway does${why}`,
    { timeout: 150_000 },
    async () => {
      const directory = mkdtempSync(path.join(tmpdir(), 'parley-idle-'))
      const gateway = await startGateway()
      const { address } = gateway
      const replicas = { gateways: [address, address], events: [address, address] }
      const proxy = await startReverseProxy(kind, found as Program, replicas, directory)
      try {
        const nobody = Person.nobody(proxy.baseUrl)
        const posts = await Promise.all(Array.from({ length: 20 }, () => nobody.post('/auth/refresh')))
        expect(posts.map(({ status }) => status)).toEqual(Array(20).fill(200))
        await expect.poll(gateway.open, { timeout: 120_000 }).toBeLessThanOrEqual(2)
        expect(gateway.closedHere()).toBe(0)
      } finally {
        await proxy.stop()
        gateway.close()
        rmSync(directory, { recursive: true, force: true })
      }
    },
  )
})
