import { startNodeSdk } from '@opentelemetry/sdk-node'
import { audienceOf } from '@parley/contract'
import { inSpan, SpanKind, shutdownTelemetry } from '@parley/telemetry'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openTestServer, type TestServer } from '../testing/test-server.ts'

interface EndedSpan {
  name: string
  kind: SpanKind
  attributes: Record<string, unknown>
  spanContext(): { traceId: string }
}

let server: TestServer
const ended: EndedSpan[] = []

beforeAll(async () => {
  const collector = {
    onStart() {},
    onEnd: (span: unknown) => void ended.push(span as EndedSpan),
    forceFlush: async () => {},
    shutdown: async () => {},
  }
  startNodeSdk({ spanProcessors: [collector], metricReaders: [], logRecordProcessors: [], logLevel: 'none' })
  server = await openTestServer()
})
afterAll(async () => {
  await server.close()
  await shutdownTelemetry()
})

test('the span of a delivery belongs to the trace of the request that caused it, and has the number of streams', async () => {
  const [ann, bob] = [await server.addMember('ann'), await server.addMember('bob')]
  const node = await server.startNode()
  const streams = [await node.open(ann), await node.open(ann), await node.open(bob)]
  const channel = await server.addChannel('private', [ann])

  await inSpan('request', {}, () => server.says(audienceOf(channel), 'traced'))
  await Promise.all(streams.slice(0, 2).map((stream) => stream.waitFor('UPDATE_SERVER_SETTINGS', { name: 'traced' })))

  const request = ended.find(({ name }) => name === 'request')
  expect(ended.find(({ name }) => name === 'realtime.deliver')).toMatchObject({
    kind: SpanKind.CONSUMER,
    attributes: { 'parley.deliveries': 2, 'parley.event.position': expect.any(Number) },
  })
  expect(ended.find(({ name }) => name === 'realtime.deliver')?.spanContext().traceId).toBe(
    request?.spanContext().traceId,
  )
  await Promise.all(streams.map((stream) => stream.close()))
})
