import { startNodeSdk } from '@opentelemetry/sdk-node'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { contextFromTraceparent, currentTraceparent, inSpan, SpanKind, shutdownTelemetry, tracer } from './index.ts'

const traceId = '0af7651916cd43dd8448eb211c80319c'
const spanId = 'b7ad6b7169203331'
const traceparent = `00-${traceId}-${spanId}-01`

describe('without an SDK', () => {
  test('there is no traceparent, and the function in a span runs', () => {
    expect(inSpan('work', {}, () => currentTraceparent())).toBeNull()
  })
})

describe('with an SDK', () => {
  const ended: EndedSpan[] = []
  const collector = {
    onStart() {},
    onEnd: (span: unknown) => void ended.push(span as EndedSpan),
    forceFlush: async () => {},
    shutdown: async () => {},
  }
  beforeAll(() => {
    startNodeSdk({ spanProcessors: [collector], metricReaders: [], logRecordProcessors: [], logLevel: 'none' })
  })
  beforeEach(() => {
    ended.length = 0
  })
  afterAll(() => shutdownTelemetry())

  test('inSpan returns the result of its function, sync or async, and ends the span', async () => {
    expect(inSpan('sync', { kind: SpanKind.CONSUMER, attributes: { a: 1 } }, () => 42)).toBe(42)
    expect(await inSpan('async', {}, async () => 43)).toBe(43)
    expect(ended).toMatchObject([{ name: 'sync', kind: SpanKind.CONSUMER, attributes: { a: 1 } }, { name: 'async' }])
  })

  test('inner spans are children, and the traceparent names the innermost', async () => {
    const inner = await inSpan('outer', {}, async () => inSpan('inner', {}, async () => currentTraceparent()))
    const [child, parent] = ended
    expect(child?.parentSpanContext?.spanId).toBe(parent?.spanContext().spanId)
    expect(inner).toBe(`00-${child?.spanContext().traceId}-${child?.spanContext().spanId}-01`)
  })

  test.each([
    ['thrown', () => fails(new Error('boom'))],
    ['rejected', async () => fails(new Error('boom'))],
  ])('an error that is %s is recorded, marks the span and goes on', async (_how, fn) => {
    await expect(async () => inSpan('work', {}, fn)).rejects.toThrow('boom')
    expect(ended).toMatchObject([{ status: { code: 2, message: 'boom' }, events: [{ name: 'exception' }] }])
  })

  test('an error with a status below 500 is recorded, but does not fail the span', async () => {
    const refusal = Object.assign(new Error('not yours'), { statusCode: 403 })
    await expect(async () => inSpan('work', {}, () => fails(refusal))).rejects.toBe(refusal)
    expect(ended).toMatchObject([{ status: { code: 0 }, events: [{ name: 'exception' }] }])
  })

  test('a given traceparent is continued instead of the active span', () => {
    inSpan('active', {}, () => inSpan('continued', { parent: traceparent }, () => {}))
    expect(ended[0]?.spanContext().traceId).toBe(traceId)
    expect(ended[0]?.parentSpanContext).toMatchObject({ spanId, isRemote: true })
  })

  test('work without a trace begins none', () => {
    const seen = inSpan('work', { parent: null }, () => inSpan('inside', { parent: null }, () => currentTraceparent()))
    expect(seen).toBeNull()
    expect(ended).toEqual([])
  })

  test('a batch links to its traced members', () => {
    inSpan('batch', { links: [traceparent, null] }, () => {})
    expect(ended[0]?.links).toMatchObject([{ context: { traceId, spanId } }])
  })

  test('an unsampled span has no traceparent', () => {
    const unsampled = contextFromTraceparent(`00-${traceId}-${spanId}-00`)
    const span = tracer.startSpan('work', {}, unsampled)
    expect(span.isRecording()).toBe(false)
    expect(inSpan('work', { parent: `00-${traceId}-${spanId}-00` }, () => currentTraceparent())).toBeNull()
  })

  test.each(['', 'nonsense', `01-${traceId}-${spanId}-01`, `00-${'0'.repeat(32)}-${spanId}-01`, `00-${traceId}-01`])(
    '%j is no traceparent: a new trace begins',
    (malformed) => {
      inSpan('work', { parent: malformed }, () => {})
      expect(ended[0]?.parentSpanContext).toBeUndefined()
    },
  )
})

interface EndedSpan {
  name: string
  attributes: object
  links: object[]
  events: object[]
  status: object
  parentSpanContext?: { spanId: string }
  spanContext(): { traceId: string; spanId: string }
}

function fails(error: Error): never {
  throw error
}
