import { context, trace } from '@opentelemetry/api'
import { startNodeSdk } from '@opentelemetry/sdk-node'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createLogger, tracer } from './index.ts'

describe('createLogger', () => {
  const lines: string[] = []
  const logger = createLogger({
    service: 'messaging',
    level: 'info',
    destination: { write: (line) => lines.push(line) },
  })
  const last = () => JSON.parse(lines.at(-1) ?? '{}')

  let sdk: ReturnType<typeof startNodeSdk>
  beforeAll(() => {
    sdk = startNodeSdk({ spanProcessors: [nowhere], metricReaders: [], logRecordProcessors: [], logLevel: 'none' })
  })
  afterAll(() => sdk.shutdown())

  test('writes service, level name, message and fields', () => {
    logger.info({ channelId: 'c1' }, 'message stored')
    expect(last()).toMatchObject({ service: 'messaging', level: 'info', msg: 'message stored', channelId: 'c1' })
    expect(last()).not.toHaveProperty('trace_id')
  })

  test('omits the stack trace of a lost connection, and keeps that of other errors', () => {
    const faults = [
      Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }),
      Object.assign(new Error('terminating connection'), { code: '57P01' }),
      new Error('Connection terminated unexpectedly'),
      new Error('Client has encountered a connection error and is not queryable'),
    ]
    for (const err of faults) {
      logger.warn({ err }, 'failed')
      expect(last().err).toEqual({ type: 'Error', message: err.message, ...('code' in err && { code: err.code }) })
    }
    logger.warn({ err: new TypeError('a defect') }, 'failed')
    expect(last().err.stack).toContain('logger.test.ts')
  })

  test('names the active span', () => {
    const span = tracer.startSpan('work')
    context.with(trace.setSpan(context.active(), span), () => logger.info('inside'))
    const { traceId, spanId } = span.spanContext()
    expect(last()).toMatchObject({ trace_id: traceId, span_id: spanId })
  })

  test.each([
    ['an authorization header', { headers: { authorization: 'Bearer S3CRET' } }],
    ['a header of a nested request', { request: { headers: { cookie: 'S3CRET', 'set-cookie': 'S3CRET' } } }],
    ['a password', { password: 'S3CRET' }],
    ['tokens', { tokens: { accessToken: 'S3CRET', refreshToken: 'S3CRET' } }],
    ['a token in a URL', { url: '/events?token=S3CRET' }],
    [
      'a token in the URL of a request',
      { req: { method: 'GET', url: '/events?token=S3CRET', headers: { cookie: 'S3CRET' } } },
    ],
    ['a token in the message of an error', { err: new Error('GET http://auth/verify?token=S3CRET&email=a failed') }],
    ['a token in the cause of an error', { err: new Error('failed', { cause: new Error('no /x?token=S3CRET') }) }],
    [
      'the row a database error quotes',
      { err: Object.assign(new Error('duplicate'), { detail: 'Key (email)=(S3CRET)' }) },
    ],
  ])('never writes %s', (_what, facts) => {
    logger.info(facts, 'something happened')
    expect(lines.at(-1)).toContain('something happened')
    expect(lines.at(-1)).not.toContain('S3CRET')
  })

  test('redacts the fields of a child logger', () => {
    logger.child({ requestId: 'r1', token: 'S3CRET' }).info('something happened')
    expect(last()).toMatchObject({ requestId: 'r1' })
    expect(lines.at(-1)).not.toContain('S3CRET')
  })

  test('does not change the logged object', () => {
    const facts = { account: { password: 'S3CRET' } }
    logger.info(facts, 'something happened')
    expect(facts.account.password).toBe('S3CRET')
  })

  test('keeps type, message, stack, code and cause of an error', () => {
    const cause = Object.assign(new Error('connection refused'), { code: 'ECONNREFUSED' })
    logger.error({ err: new TypeError('no database', { cause }) }, 'request failed')
    expect(last().err).toMatchObject({
      type: 'TypeError',
      message: 'no database',
      stack: expect.stringContaining('logger.test.ts'),
      cause: { message: 'connection refused', code: 'ECONNREFUSED' },
    })
  })
})

const nowhere = { onStart() {}, onEnd() {}, forceFlush: async () => {}, shutdown: async () => {} }
