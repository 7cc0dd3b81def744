import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import type { AccessClaims } from '@parley/identity'
import { createMetrics } from '@parley/telemetry'
import { configWithoutServers } from '@parley/test'
import Fastify from 'fastify'
import { expect, onTestFinished, test } from 'vitest'
import { endSlowClients } from './slow-clients.ts'

/** The largest number of unfinished bodies of one client. */
const most = 32

test('a client that leaves before its body is watched does not count as an unfinished body', async () => {
  const { server } = await configWithoutServers()
  const app = Fastify()
  onTestFinished(() => app.close())
  let waiting = 0
  let gone = 0
  app.addHook('onRequest', async (request) => {
    request.claims = { userId: 'ann' } as AccessClaims
    const { headers, raw } = request
    if (headers.leaves === undefined) return
    waiting++
    await new Promise((resolve) => raw.once('close', resolve))
    gone++
  })
  endSlowClients(app, server, createMetrics({ service: 'test' }))
  app.post('/', () => 'taken')
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  const head = 'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n'

  const leaving = Array.from({ length: most }, () => connect(port, '127.0.0.1'))
  for (const socket of leaving) socket.write(`${head}Leaves: soon\r\n\r\n`)
  await expect.poll(() => waiting).toBe(most)
  for (const socket of leaving) socket.destroy()
  await expect.poll(() => gone).toBe(most)

  const socket = connect(port, '127.0.0.1')
  const response = text(socket)
  socket.write(`${head}Connection: close\r\nExpect: 100-continue\r\n\r\n`)
  await once(app.server, 'request')
  socket.write('ok')
  expect(await response).toMatch(/HTTP\/1\.1 200 /)
})
