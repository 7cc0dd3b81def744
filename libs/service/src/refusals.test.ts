import type { IncomingMessage } from 'node:http'
import { PassThrough } from 'node:stream'
import { enrolmentRequired, unavailable } from '@parley/contract'
import Fastify from 'fastify'
import { expect, test } from 'vitest'
import { scimForm, scimRefusal, slackForm, slackRefusal, webhookForm, webhookRefusal } from './refusal-forms.ts'
import { dropRest, LogClientsThatLeft, refuseAs, renderRefusals } from './responses.ts'

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

test('many requests that get 503 for one reason have one line in the log, and a fault has a line for each request', async () => {
  const lines: string[] = []
  const app = Fastify({
    logger: { stream: { write: (line: string) => lines.push(line) } },
    logController: new LogClientsThatLeft(),
  })
  renderRefusals(app)
  app.get('/away', async () => {
    throw unavailable()
  })
  app.get('/faulty', async () => {
    throw new Error('a fault')
  })
  for (const path of ['/away', '/away', '/faulty', '/away', '/faulty']) await app.inject(path)
  expect(lines.map((line) => JSON.parse(line).route)).toEqual(['/away', '/faulty', '/faulty'])
})

test('an unknown error that a protocol calls 503 says when to try again', async () => {
  const app = Fastify()
  app.setErrorHandler(refuseAs(webhookForm))
  app.get('/', async () => {
    throw new Error('a fault')
  })
  const refused = await app.inject('/')
  expect(refused).toMatchObject({ statusCode: 503, body: 'service_unavailable', headers: { 'retry-after': '5' } })
})

test.each([
  ['SCIM', scimForm, scimRefusal(409, 'Another group has this name', 'uniqueness'), 'uniqueness'],
  ['Slack', slackForm, slackRefusal('channel_not_found'), 'channel_not_found'],
  ['webhooks', webhookForm, webhookRefusal(404, 'no_service'), 'no_service'],
])(
  'a refusal of %s is sent as it was written, and logged once with its code',
  async (_protocol, form, refusal, code) => {
    const lines: string[] = []
    const app = Fastify({ logger: { level: 'debug', stream: { write: (line: string) => lines.push(line) } } })
    app.setErrorHandler(refuseAs(form))
    app.get('/', async () => {
      throw refusal
    })
    const { statusCode, headers, body } = await app.inject('/')
    expect({ status: statusCode, contentType: headers['content-type'], body }).toEqual(refusal.written)
    const refused = lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'request refused')
    expect(refused).toMatchObject([{ code, route: '/' }])
  },
)

test('Slack’s form has Slack’s code for a person who must set up a second factor first', () => {
  const { status, body } = slackForm(enrolmentRequired(), 'a request')
  expect(status).toBe(200)
  expect(JSON.parse(body)).toEqual({ ok: false, error: 'two_factor_setup_required' })
})

test('the rest of a refused body is dropped, and the connection of a large one is closed', () => {
  const request = Object.assign(new PassThrough(), { complete: false })
  dropRest(request as unknown as IncomingMessage)
  request.emit('data', Buffer.alloc(64 * 1024 * 1024))
  expect(request.destroyed).toBe(false)
  request.emit('data', Buffer.alloc(1))
  expect(request.destroyed).toBe(true)
})
