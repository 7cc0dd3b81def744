import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { version } from '@parley/config/version'
import { type EmbeddedServer, startPostgres, startRedis } from '@parley/embedded'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type OtlpReceiver, type ReceivedSpan, startOtlpReceiver } from '../src/testing/otlp-receiver.ts'
import { startTracedApp } from './traced-app-launcher.ts'

const SERVER = 2
const CLIENT = 3

describe('a process with the preload and a collector', () => {
  let home: string
  let parts: EmbeddedServer[] = []
  let collector: OtlpReceiver
  let everything: string
  let lines: Record<string, unknown>[]
  const traces = { calls: '', parts: '', later: '' }

  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'parley-telemetry-'))
    parts = await Promise.all([
      startPostgres({ directory: join(home, 'postgres'), durable: false }),
      startRedis({ directory: join(home, 'redis'), durable: false }),
    ])
    collector = await startOtlpReceiver()

    const app = await startTracedApp(
      collector.env,
      parts.map(({ url }) => url),
    )
    await app.get('/health/live')
    const calls = await app.get('/calls/1?token=S3CRET')
    const asked = await app.post('/parts')
    const later = await app.post('/later', asked)
    lines = await app.stop()

    traces.calls = traceOf(calls)
    traces.parts = traceOf(asked)
    traces.later = traceOf(later)
    everything = collector.bodies.join('\n')
  }, 300_000)

  afterAll(async () => {
    await collector.close()
    await Promise.all(parts.map((part) => part.stop()))
    await rm(home, { recursive: true, force: true })
  })

  const spansOf = (traceId: string) => collector.spans.filter((span) => span.traceId === traceId)

  test('sends one trace for a request and its outgoing requests, by fetch and by node:http', () => {
    const spans = spansOf(traces.calls)
    expect(rootsOf(spans)).toMatchObject([
      { name: 'GET /calls/:id', kind: SERVER, attributes: { 'http.route': '/calls/:id', 'url.path': '/calls/1' } },
    ])

    const calls = spans.filter(({ kind }) => kind === CLIENT)
    const served = spans.filter(({ name }) => name === 'GET /events')
    expect(calls).toHaveLength(2)
    expect(served.map(({ parentSpanId }) => parentSpanId).sort()).toEqual(calls.map(({ spanId }) => spanId).sort())
  })

  test('traces statements without values and commands without arguments', () => {
    const spans = spansOf(traces.parts)
    expect(spans).toContainEqual(
      attributesOf({ 'db.system.name': 'postgresql', 'db.query.text': 'select $1::text as kept' }),
    )
    expect(spans).toContainEqual(attributesOf({ 'db.system.name': 'redis', 'db.query.text': 'set' }))
  })

  test('continues the recorded trace in later work', () => {
    expect(traces.later).toBe(traces.parts)
    const [published] = spansOf(traces.parts).filter(({ name }) => name === 'relay.publish')
    expect(spansOf(traces.parts)).toContainEqual(
      expect.objectContaining({ name: 'publish', parentSpanId: published?.spanId }),
    )
  })

  test('traces neither health checks nor statements outside of requests', () => {
    expect(
      rootsOf(collector.spans)
        .map(({ name }) => name)
        .sort(),
    ).toEqual(['GET /calls/:id', 'POST /later', 'POST /parts'])
    expect(everything).not.toMatch(/\/health|unasked/)
  })

  test('sends no query, token, header, client address or command line', () => {
    expect(everything).toContain('/events')
    expect(everything).not.toMatch(
      /S3CRET|by=|url\.query|authorization|client\.address|command_args|redis:\/\/|postgres:\/\//i,
    )
  })

  test('names its process, its version and its instance', () => {
    expect(new Set(collector.spans.map(({ service }) => service))).toEqual(new Set(['parley']))
    expect(new Set(collector.spans.map((span) => span.version))).toEqual(new Set([version]))
    expect(everything).toContain('service.instance.id')
  })

  test('sends neither metrics nor log lines by default', () => {
    expect(collector.metrics.size).toBe(0)
    expect(collector.logs).toEqual([])
  })

  test('logs the trace id and no token', () => {
    expect(lines.find(({ msg }) => msg === 'calls made')).toMatchObject({ trace_id: traces.calls })
    expect(lines).toContainEqual(
      expect.objectContaining({ msg: 'incoming request', req: { method: 'GET', url: '/events' } }),
    )
    expect(JSON.stringify(lines)).not.toContain('S3CRET')
  })
})

describe('a process with the preload', () => {
  test('takes its name and its sampling from the environment', async () => {
    const collector = await startOtlpReceiver()
    const named = await startTracedApp({ ...collector.env, OTEL_SERVICE_NAME: 'messaging' })
    await named.get('/events')
    await named.stop()
    expect(collector.spans.map(({ service }) => service)).toContain('messaging')

    const before = collector.spans.length
    const unsampled = await startTracedApp({ ...collector.env, OTEL_TRACES_SAMPLER: 'always_off' })
    expect(await unsampled.get('/calls/1')).toEqual({ traceparent: null })
    await unsampled.stop()
    expect(collector.spans).toHaveLength(before)
    await collector.close()
  })

  test('sends metrics and log lines when configured, the lines without secrets', async () => {
    const collector = await startOtlpReceiver()
    const app = await startTracedApp({
      ...collector.env,
      OTEL_METRICS_EXPORTER: 'otlp',
      OTEL_LOGS_EXPORTER: 'otlp',
      OTEL_RESOURCE_ATTRIBUTES: 'service.name=chat',
    })
    const { traceparent } = await app.get('/calls/1')
    const written = await app.stop()
    await collector.close()

    expect(collector.metrics).toContain('chat:parley_events_relayed_total')
    expect(collector.metrics).toContain('chat:nodejs.eventloop.utilization')
    expect(collector.logs.find(({ body }) => body === 'calls made')).toMatchObject({
      service: 'chat',
      severity: 'info',
      traceId: traceOf({ traceparent }),
      attributes: { password: '[redacted]' },
    })
    expect(written).toContainEqual(expect.objectContaining({ msg: 'calls made', password: '[redacted]' }))
    expect(collector.bodies.join()).not.toContain('S3CRET')
  })

  test('sends only log lines when traces are disabled', async () => {
    const collector = await startOtlpReceiver()
    const env = { ...collector.env, OTEL_TRACES_EXPORTER: 'none', OTEL_LOGS_EXPORTER: 'otlp' }
    const app = await startTracedApp(env)
    expect(await app.get('/calls/1')).toEqual({ traceparent: null })
    await app.stop()
    await collector.close()
    expect(collector.logs).toContainEqual(expect.objectContaining({ body: 'calls made', traceId: '' }))
    expect(collector.spans).toEqual([])
  })

  test('traces nothing without a collector', async () => {
    const app = await startTracedApp({})
    expect(await app.get('/calls/1')).toEqual({ traceparent: null })
    expect(JSON.stringify(await app.stop())).not.toContain('trace_id')
  })

  test('ends in time when the collector is unreachable', async () => {
    const collector = await startOtlpReceiver()
    await collector.close()
    const app = await startTracedApp({
      ...collector.env,
      OTEL_METRICS_EXPORTER: 'otlp',
      OTEL_LOGS_EXPORTER: 'otlp',
    })
    await app.get('/events')
    expect(await app.stop()).toContainEqual(expect.objectContaining({ msg: 'incoming request' }))
  })
})

function traceOf({ traceparent }: { traceparent?: string | null }) {
  return traceparent?.split('-')[1] ?? ''
}

function rootsOf(spans: ReceivedSpan[]) {
  return spans.filter(({ parentSpanId }) => parentSpanId === '')
}

function attributesOf(attributes: Record<string, unknown>) {
  return expect.objectContaining({ attributes: expect.objectContaining(attributes) })
}
