import { randomUUID } from 'node:crypto'
import type { RequestOptions } from 'node:http'
import { createRequire, syncBuiltinESMExports } from 'node:module'
import { hostname } from 'node:os'
import otel from '@fastify/otel'
import { HttpInstrumentation } from '@opentelemetry/instrumentation-http'
import { IORedisInstrumentation } from '@opentelemetry/instrumentation-ioredis'
import { PgInstrumentation } from '@opentelemetry/instrumentation-pg'
import { PinoInstrumentation } from '@opentelemetry/instrumentation-pino'
import { UndiciInstrumentation } from '@opentelemetry/instrumentation-undici'
import { detectResources, resourceAttributesEnvDetector, resourceFromAttributes } from '@opentelemetry/resources'
import { PeriodicExportingMetricReader, type PushMetricExporter } from '@opentelemetry/sdk-metrics'
import { startNodeSdk } from '@opentelemetry/sdk-node'
import { metricExport, type TelemetrySignals, telemetryServiceName } from '@parley/config/telemetry-environment'
import { version } from '@parley/config/version'
import { register } from 'import-in-the-middle/register-hooks.mjs'
import { prepareMetricPush } from './metrics.ts'
import { spanAttribute } from './names.ts'
import { withoutQuery } from './redaction.ts'
import { shutdownTelemetry } from './tracing.ts'

/**
 * Starts the OpenTelemetry SDK for these signals. The standard `OTEL_*` variables set the receiver and the sampling. Must run before any
 * traced module is loaded.
 */
export async function startTelemetry({ traces, metrics, logs }: TelemetrySignals): Promise<void> {
  // This must come before the SDK, which registers no hooks for ES modules. Without the hooks ioredis would not be
  // traced.
  register({ include: patchedModules })

  const attributes = processAttributes()
  const named = telemetryServiceName()
  const overrides = named ? { 'service.name': named } : {}
  startNodeSdk({
    // The SDK's own detectors are not used: they export the command line, and flags may contain passwords.
    resourceDetectors: [{ detect: () => ({ attributes }) }],
    resourceAttributes: overrides,
    instrumentations: instrumentations({ traces, logs }),
    ...(!traces && { spanProcessors: [] }),
    ...(!logs && { logRecordProcessors: [] }),
    // The provider that serves /metrics also pushes them, so that both show the same values.
    metricReaders: [],
  })
  if (metrics) {
    const { protocol, intervalMs } = metricExport()
    prepareMetricPush({
      reader: new PeriodicExportingMetricReader({
        exporter: await createMetricExporter(protocol),
        exportIntervalMillis: intervalMs,
        exportTimeoutMillis: Math.min(intervalMs, 30_000),
      }),
      resource: resourceFromAttributes(attributes)
        .merge(detectResources({ detectors: [resourceAttributesEnvDetector] }))
        .merge(resourceFromAttributes(overrides)),
    })
  }
  patchBuiltins()

  // For commands that end by themselves. A service calls shutdownTelemetry() itself.
  process.once('beforeExit', () => void shutdownTelemetry())
}

// OTEL_RESOURCE_ATTRIBUTES overrides these.
function processAttributes() {
  return {
    'service.name': serviceNameOf(process.argv),
    'service.namespace': 'parley',
    'service.version': version,
    'service.instance.id': randomUUID(),
    'host.name': hostname(),
    'process.pid': process.pid,
  }
}

/**
 * `messaging` for `services/messaging/src/main.ts`, and for the entry point of the image with the argument `messaging`; `parley` for other
 * scripts.
 */
function serviceNameOf([, script = '', name]: string[]) {
  if (/[\\/]deploy[\\/]image[\\/]start\.ts$/.test(script)) return name ?? 'parley'
  return script.match(/[\\/]services[\\/]([^\\/]+)[\\/]/)?.[1] ?? 'parley'
}

async function createMetricExporter(protocol: string): Promise<PushMetricExporter> {
  const { OTLPMetricExporter } = await (protocol === 'grpc'
    ? import('@opentelemetry/exporter-metrics-otlp-grpc')
    : protocol === 'http/json'
      ? import('@opentelemetry/exporter-metrics-otlp-http')
      : import('@opentelemetry/exporter-metrics-otlp-proto'))
  return new OTLPMetricExporter()
}

// The instrumentation patches the CommonJS exports when they are first required. `import { request } from 'node:http'`
// sees the patch only after `syncBuiltinESMExports`.
function patchBuiltins() {
  const require = createRequire(import.meta.url)
  require('node:http')
  require('node:https')
  syncBuiltinESMExports()
}

/** Modules that the ES module loader hooks have to intercept for these instrumentations. */
const patchedModules = ['pg', 'pg-pool', 'ioredis', 'fastify', 'undici', 'pino']

/**
 * The instrumentations that record incoming and outgoing requests, statements and Redis commands as spans, and log
 * lines as records. No span has a query string, a header, values of a statement, arguments of a command or the address
 * of a client.
 */
export function instrumentations({ traces, logs }: { traces: boolean; logs: boolean }) {
  return [...(traces ? [http(), undici(), fastify(), pg(), redis()] : []), ...(logs ? [pino()] : [])]
}

function http() {
  return new HttpInstrumentation({
    ignoreIncomingRequestHook: ({ url = '/' }) => isProbe(withoutQuery(url)),
    startIncomingSpanHook: () => ({
      [spanAttribute.urlQuery]: undefined,
      [spanAttribute.clientAddress]: undefined,
      [spanAttribute.peerAddress]: undefined,
    }),
    startOutgoingSpanHook: (request) => ({ [spanAttribute.urlFull]: outgoingUrl(request) }),
  })
}

function undici() {
  return new UndiciInstrumentation({
    ignoreRequestHook: ({ path }) => isProbe(withoutQuery(path)),
    startSpanHook: ({ origin, path }) => ({
      [spanAttribute.urlFull]: new URL(withoutQuery(path), origin).href,
      [spanAttribute.urlQuery]: undefined as unknown as string,
    }),
  })
}

// Adds the route to the server span. Spans of hooks and handlers would add nothing to the request's span.
function fastify() {
  return new otel.FastifyOtelInstrumentation({
    registerOnInitialization: true,
    instrumentHooks: false,
    instrumentHandler: false,
    ignorePaths: ({ url }) => isProbe(withoutQuery(url)),
    requestHook: (span, request) => span.setAttribute(spanAttribute.urlPath, withoutQuery(request.url)),
  })
}

// Only below a span: the relay looks for work ten times a second, which must not create traces.
function pg() {
  return new PgInstrumentation({ requireParentSpan: true, ignoreConnectSpans: true, enhancedDatabaseReporting: false })
}

function redis() {
  return new IORedisInstrumentation({ requireParentSpan: true, dbStatementSerializer: (command) => command })
}

// Sends each line as it was written, with secrets redacted. The logger adds the trace itself.
function pino() {
  return new PinoInstrumentation({ disableLogCorrelation: true })
}

function isProbe(path: string) {
  return path === '/metrics' || path === '/health' || path.startsWith('/health/')
}

function outgoingUrl({ protocol, hostname, host, port, path }: RequestOptions) {
  const name = hostname ?? host ?? 'localhost'
  const authority = port && !name.includes(':') ? `${name}:${port}` : name
  return `${protocol ?? 'http:'}//${authority}${withoutQuery(path ?? '/')}`
}
