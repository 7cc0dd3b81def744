import type { IncomingMessage } from 'node:http'
import { PassThrough } from 'node:stream'
import Fastify from 'fastify'
import { expect, test } from 'vitest'
import { webhookForm } from './refusal-forms.ts'
import { dropRest, renderRefusals, sendRefusal } from './replies.ts'

test('a request within the process, which has no connection, is refused before its body is read', async () => {
  const app = Fastify()
  renderRefusals(app)
  app.addHook('onRequest', async () => {
    throw Object.assign(new Error('not you'), { statusCode: 403 })
  })
  app.post('/', async () => ({}))
  const refused = await app.inject({ method: 'POST', url: '/', payload: { text: 'x'.repeat(1_000_000) } })
  expect(refused.statusCode).toBe(400)
  expect(refused.json()).toMatchObject({ error: 'not you' })
})

test('an unknown error that a protocol calls 503 says when to try again', async () => {
  const app = Fastify()
  app.setErrorHandler((error: Error, request, reply) => sendRefusal(error, request, reply, webhookForm))
  app.get('/', async () => {
    throw new Error('a fault')
  })
  const refused = await app.inject('/')
  expect(refused).toMatchObject({ statusCode: 503, body: 'service_unavailable', headers: { 'retry-after': '5' } })
})

test('the rest of a refused body is dropped, and the connection of a large one is closed', () => {
  const request = Object.assign(new PassThrough(), { complete: false })
  dropRest(request as unknown as IncomingMessage)
  request.emit('data', Buffer.alloc(64 * 1024 * 1024))
  expect(request.destroyed).toBe(false)
  request.emit('data', Buffer.alloc(1))
  expect(request.destroyed).toBe(true)
})
