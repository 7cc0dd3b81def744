import { startNodeSdk } from '@opentelemetry/sdk-node'
import { inSpan, shutdownTelemetry, spanName } from '@parley/telemetry'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { says, sendingEnvironment } from './sending.testing.ts'

const environment = sendingEnvironment()

interface EndedSpan {
  name: string
  attributes: object
  links: { context: { traceId: string } }[]
  spanContext(): { traceId: string; spanId: string }
}

describe('with tracing', () => {
  const ended: EndedSpan[] = []
  beforeAll(() => {
    const collector = {
      onStart() {},
      onEnd: (span: unknown) => void ended.push(span as EndedSpan),
      forceFlush: async () => {},
      shutdown: async () => {},
    }
    startNodeSdk({ spanProcessors: [collector], metricReaders: [], logRecordProcessors: [], logLevel: 'none' })
  })
  afterAll(() => shutdownTelemetry())

  test('the span of the shared statement is a child of its first send and links to the others; each event has its own trace', async () => {
    const ann = await environment.person('ann')
    const channel = await environment.channel('public', ann)
    const sender = environment.process()
    const texts = await Promise.all([
      sender.send(says(ann, channel, 'untraced')),
      inSpan('first', { parent: undefined }, () => sender.send(says(ann, channel, 'one'))),
      inSpan('second', { parent: undefined }, () => sender.send(says(ann, channel, 'two'))),
    ])
    const span = (name: string) => ended.find((each) => each.name === name)!
    const traceId = (name: string) => span(name).spanContext().traceId
    const batch = span(spanName.sendBatch)
    expect(batch.spanContext().traceId).toBe(traceId('first'))
    expect(batch.links.map(({ context }) => context.traceId)).toEqual([traceId('second')])
    expect(batch.attributes).toEqual({ 'parley.batch.size': 3 })
    const traces = await Promise.all(texts.map(async (text) => (await environment.recorded(JSON.parse(text).id)).trace))
    expect(traces).toEqual([
      null,
      ...['first', 'second'].map((name) => `00-${traceId(name)}-${span(name).spanContext().spanId}-01`),
    ])
  })
})
