import { EventEmitter, once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

/** A log line as a collector receives it. */
interface ReceivedLogLine {
  service: string
  body: unknown
  severity: string
  attributes: Record<string, unknown>
  /** Empty outside of any trace. */
  traceId: string
}

/** A span as a collector receives it, with its attributes as a plain object. */
export interface ReceivedSpan {
  service: string
  /** Version of Parley that the process reports. */
  version: string
  scope: string
  name: string
  kind: number
  traceId: string
  spanId: string
  /** Empty for the root of a trace. */
  parentSpanId: string
  attributes: Record<string, unknown>
  links: { traceId: string; spanId: string }[]
  events: string[]
  /** 0 unset, 1 ok, 2 error. */
  status: number
}

export interface OtlpReceiver {
  /** Environment variables with which a process sends its traces to this receiver without delay. */
  env: Record<string, string>
  /** Everything received so far, oldest first. */
  spans: ReceivedSpan[]
  logs: ReceivedLogLine[]
  /** Names of the metrics received, with the service before a colon: `gateway:parley_streams_open`. */
  metrics: Set<string>
  /** The raw bodies, to assert that none of them contains a text. */
  bodies: string[]
  /**
   * Resolves with the spans as soon as `complete` returns true for them. Rejects after `timeoutMs` (10 s), with a list
   * of the received spans.
   */
  until(complete: (spans: ReceivedSpan[]) => boolean, options?: { timeoutMs?: number }): Promise<ReceivedSpan[]>
  close(): Promise<void>
}

/** A collector for tests: takes traces, metrics and logs by OTLP over HTTP in JSON on a free loopback port. */
export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = []
  const logs: ReceivedLogLine[] = []
  const metrics = new Set<string>()
  const bodies: string[] = []
  const arrivals = new EventEmitter()

  const server = createServer(async (request: IncomingMessage, response) => {
    const body = await text(request)
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    bodies.push(body)
    if (request.url === '/v1/traces') spans.push(...decode(JSON.parse(body)))
    else if (request.url === '/v1/logs') logs.push(...decodeLogs(JSON.parse(body)))
    else if (request.url === '/v1/metrics') for (const name of decodeMetrics(JSON.parse(body))) metrics.add(name)
    arrivals.emit('arrival')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo

  return {
    env: {
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_BSP_SCHEDULE_DELAY: '50',
      OTEL_BLRP_SCHEDULE_DELAY: '50',
    },
    spans,
    logs,
    metrics,
    bodies,
    async until(complete, { timeoutMs = 10_000 } = {}) {
      const signal = AbortSignal.timeout(timeoutMs)
      while (!complete(spans)) {
        await once(arrivals, 'arrival', { signal }).catch(() => {
          throw new Error(`the awaited spans did not arrive; there are:\n${spans.map(describe).join('\n')}`)
        })
      }
      return spans
    },
    async close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

interface KeyValue {
  key: string
  value: Record<string, unknown>
}

interface ExportedSpan extends Omit<ReceivedSpan, 'version' | 'attributes' | 'events' | 'status' | 'links'> {
  attributes?: KeyValue[]
  links?: { traceId: string; spanId: string }[]
  events?: { name: string }[]
  status?: { code?: number }
}

interface Exported {
  resource: { attributes: KeyValue[] }
}

interface LogExport {
  resourceLogs: (Exported & {
    scopeLogs: {
      logRecords: { body: Record<string, unknown>; severityText: string; attributes?: KeyValue[]; traceId?: string }[]
    }[]
  })[]
}

interface MetricExport {
  resourceMetrics: (Exported & { scopeMetrics: { metrics: { name: string }[] }[] })[]
}

interface TraceExport {
  resourceSpans: (Exported & {
    scopeSpans: { scope: { name: string }; spans: ExportedSpan[] }[]
  })[]
}

function decode({ resourceSpans }: TraceExport): ReceivedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ scope, spans }) =>
      spans.map((span) => ({
        service: serviceOf(resource),
        version: String(plain(resource.attributes)['service.version']),
        scope: scope.name,
        name: span.name,
        kind: span.kind,
        traceId: span.traceId,
        spanId: span.spanId,
        parentSpanId: span.parentSpanId ?? '',
        attributes: plain(span.attributes),
        links: (span.links ?? []).map(({ traceId, spanId }) => ({ traceId, spanId })),
        events: (span.events ?? []).map(({ name }) => name),
        status: span.status?.code ?? 0,
      })),
    ),
  )
}

function decodeLogs({ resourceLogs }: LogExport): ReceivedLogLine[] {
  return resourceLogs.flatMap(({ resource, scopeLogs }) =>
    scopeLogs.flatMap(({ logRecords }) =>
      logRecords.map(({ body, severityText, attributes, traceId = '' }) => ({
        service: serviceOf(resource),
        body: Object.values(body)[0],
        severity: severityText,
        attributes: plain(attributes),
        traceId,
      })),
    ),
  )
}

function decodeMetrics({ resourceMetrics }: MetricExport): string[] {
  return resourceMetrics.flatMap(({ resource, scopeMetrics }) =>
    scopeMetrics.flatMap(({ metrics }) => metrics.map(({ name }) => `${serviceOf(resource)}:${name}`)),
  )
}

const serviceOf = (resource: Exported['resource']) => String(plain(resource.attributes)['service.name'])

function plain(attributes: KeyValue[] = []): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))
}

function describe({ service, name, traceId, spanId, parentSpanId }: ReceivedSpan) {
  return `${traceId} ${parentSpanId || '(root)'} > ${spanId} ${service}: ${name}`
}
