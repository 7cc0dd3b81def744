import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import type { AccessClaims } from '@parley/identity'
import { dropRest } from '@parley/service'
import Fastify from 'fastify'
import { expect, onTestFinished, test } from 'vitest'
import { readUploadBodies } from './upload-bodies.ts'
import { createUploadMemory } from './upload-memory.ts'

test('a client that leaves before its upload is read gives its memory back', async () => {
  const app = Fastify()
  onTestFinished(() => app.close())
  const arrived = Promise.withResolvers<void>()
  const gone = Promise.withResolvers<void>()
  app.addHook('onRequest', async (request, { raw }) => {
    request.claims = { userId: 'ann' } as AccessClaims
    if (request.headers.leaves === undefined) return
    arrived.resolve()
    await once(raw, 'close')
    gone.resolve()
  })
  readUploadBodies(app, createUploadMemory({ uploadsOfOne: 1 }))
  app.post('/', async (request) => String(request.body))
  const url = await app.listen({ host: '127.0.0.1', port: 0 })

  const leaving = connect((app.server.address() as AddressInfo).port, '127.0.0.1')
  leaving.write(
    'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: 9\r\nLeaves: soon\r\n\r\nhalf',
  )
  await arrived.promise
  leaving.destroy()
  await gone.promise

  const response = await fetch(url, { method: 'POST', body: 'a file', headers: { 'content-type': 'text/plain' } })
  expect([response.status, await response.text()]).toEqual([200, 'a file'])
})

test('a body that is too large is refused at once, and its connection serves the next request', async () => {
  const app = Fastify()
  onTestFinished(() => app.close())
  app.setErrorHandler((error: Error & { status: number }, request, reply) => {
    dropRest(request.raw)
    return reply.removeHeader('connection').code(error.status).send(error.message)
  })
  readUploadBodies(app, createUploadMemory())
  app.post('/', () => 'taken')
  app.get('/', () => 'the next')
  await app.listen({ host: '127.0.0.1', port: 0 })
  const size = 45 * 1024 * 1024
  const client = connect((app.server.address() as AddressInfo).port, '127.0.0.1')
  onTestFinished(() => void client.destroy())
  let responses = ''
  client.on('data', (chunk: Buffer) => {
    responses += chunk
  })
  client.write(`POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: ${size}\r\n\r\n`)
  await expect.poll(() => responses).toMatch(/^HTTP\/1\.1 413 /)
  client.write(Buffer.alloc(size, 'a'))
  client.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await expect.poll(() => responses).toMatch(/^HTTP\/1\.1 413 [\s\S]*HTTP\/1\.1 200 [\s\S]*the next$/)
})
