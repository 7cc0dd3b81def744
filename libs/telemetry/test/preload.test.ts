import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type OtlpReceiver, startOtlpReceiver } from '../src/testing/otlp-receiver.ts'

const SERVER = 2
const CLIENT = 3

describe('a process with the preload and a collector', () => {
  let collector: OtlpReceiver
  let app: TracedApp
  let traceId: string

  beforeAll(async () => {
    collector = await startOtlpReceiver()
    app = await startApp(collector.env)

    await app.get('/health/live')
    const { traceparent } = (await app.get('/start/1?token=S3CRET')) as { traceparent: string }
    traceId = traceparent.split('-')[1] ?? ''
    await app.stop()
    await collector.until((spans) => spans.some(({ attributes }) => attributes['http.route'] === '/start/:id'))
  })
  afterAll(() => collector.close())

  test('sends one trace: the request and what it called, by fetch and by node:http', () => {
    const { spans } = collector
    expect(new Set(spans.map((span) => span.traceId))).toEqual(new Set([traceId]))

    const root = spans.find(({ parentSpanId }) => parentSpanId === '')
    expect(root).toMatchObject({ name: 'GET /start/:id', kind: SERVER, attributes: { 'http.route': '/start/:id' } })

    const calls = spans.filter(({ kind }) => kind === CLIENT)
    const served = spans.filter(({ name }) => name === 'GET /events')
    expect(calls).toHaveLength(2)
    expect(served.map(({ parentSpanId }) => parentSpanId).sort()).toEqual(calls.map(({ spanId }) => spanId).sort())
  })

  test('names the service it was told, and not its command line', () => {
    expect(new Set(collector.spans.map(({ service }) => service))).toEqual(new Set(['parley']))
    expect(collector.bodies.join()).not.toContain('command_args')
  })

  test('sends no query, no token and no header', () => {
    expect(collector.bodies.join()).toContain('/events')
    expect(collector.bodies.join()).not.toMatch(/S3CRET|by=|url\.query|authorization/i)
  })

  test('does not trace health checks', () => {
    expect(collector.bodies.join()).not.toContain('/health')
  })

  test('logs the trace, and no token', () => {
    const lines = app.lines()
    expect(lines.find(({ msg }) => msg === 'calls made')).toMatchObject({ trace_id: traceId })
    expect(lines.filter(({ msg }) => msg === 'incoming request')).toContainEqual(
      expect.objectContaining({ req: { method: 'GET', url: '/events' } }),
    )
    expect(JSON.stringify(lines)).not.toContain('S3CRET')
  })
})

test('a process with the preload and no collector traces nothing', async () => {
  const app = await startApp({})
  expect(await app.get('/start/1')).toEqual({ traceparent: null })
  await app.stop()
  expect(JSON.stringify(app.lines())).not.toContain('trace_id')
})

interface TracedApp {
  get(path: string): Promise<unknown>
  stop(): Promise<void>
  lines(): Record<string, unknown>[]
}

async function startApp(env: Record<string, string>): Promise<TracedApp> {
  const preload = new URL('../src/preload.ts', import.meta.url).href
  const child: ChildProcess = fork(new URL('traced-app.ts', import.meta.url), ['--password=S3CRET'], {
    execArgv: ['--import', preload],
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  })
  let output = ''
  if (!child.stdout) throw new Error('the child has no output')
  const read = text(child.stdout).then((all) => {
    output = all
  })
  const [port] = await once(child, 'message')

  return {
    async get(path) {
      const reply = await fetch(`http://127.0.0.1:${port}${path}`)
      const body = await reply.text()
      return body.startsWith('{') ? JSON.parse(body) : body
    },
    async stop() {
      child.disconnect()
      await Promise.all([once(child, 'exit'), read])
    },
    lines: () =>
      output
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
  }
}
