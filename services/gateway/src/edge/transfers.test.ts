import { once } from 'node:events'
import type { Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { configWithoutServers } from '@parley/test'
import Fastify from 'fastify'
import { expect, onTestFinished, test } from 'vitest'
import { trackEventStreams } from '../proxy/event-streams.ts'
import { limitTransfers } from './transfers.ts'

test('a client that leaves while it is identified holds up neither later downloads nor later streams', async () => {
  const { events, server } = await configWithoutServers({
    server: { downloadsPerPerson: 1 },
    events: { maxStreamsPerUser: 1 },
  })
  const app = Fastify()
  onTestFinished(() => app.close())
  let arrived = Promise.withResolvers<void>()
  app.addHook('onRequest', async ({ headers }, { raw }) => {
    if (headers.leaves === undefined) return
    arrived.resolve()
    await once(raw, 'close')
  })
  limitTransfers(app, { server } as Parameters<typeof limitTransfers>[1])
  const streams = trackEventStreams(app, events)
  app.get('/files/:filename', () => 'a file')
  app.get('/events', (_request, reply) => {
    streams.add(reply.raw, 'ann')
    return 'a stream'
  })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo

  for (const path of ['/files/a.txt', '/events']) {
    arrived = Promise.withResolvers()
    const leaving = connect(port, '127.0.0.1')
    leaving.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nLeaves: soon\r\n\r\n`)
    await arrived.promise
    leaving.destroy()
    await expect.poll(() => openSockets(app.server)).toBe(0)

    const response = await fetch(url + path, { headers: { connection: 'close' } })
    expect(response.status).toBe(200)
    await response.text()
    await expect.poll(() => openSockets(app.server)).toBe(0)
  }
})

const openSockets = (server: Server) =>
  new Promise<number>((resolve, reject) =>
    server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
  )
