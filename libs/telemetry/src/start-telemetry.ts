import { randomUUID } from 'node:crypto'
import { createRequire, syncBuiltinESMExports } from 'node:module'
import { hostname } from 'node:os'
import { detectResources, resourceAttributesEnvDetector, resourceFromAttributes } from '@opentelemetry/resources'
import { PeriodicExportingMetricReader, type PushMetricExporter } from '@opentelemetry/sdk-metrics'
import { startNodeSdk } from '@opentelemetry/sdk-node'
import { metricExport, type TelemetrySignals, telemetryServiceName } from '@parley/config/telemetry-environment'
import { version } from '@parley/config/version'
import { register } from 'import-in-the-middle/register-hooks.mjs'
import { instrumentations, patchedModules } from './instrumentations.ts'
import { prepareMetricPush } from './metric-push.ts'
import { shutdownTelemetry } from './tracing.ts'

/**
 * Starts the OpenTelemetry SDK for the signals that are asked for; where they go and how many traces are sampled is up to the
 * standard `OTEL_*` variables. Must run before any module it traces is loaded.
 */
export async function startTelemetry({ traces, metrics, logs }: TelemetrySignals): Promise<void> {
  // Before the SDK: it registers nothing for ES modules itself, and ioredis would go untraced.
  register({ include: patchedModules })

  const attributes = processAttributes()
  const named = telemetryServiceName()
  const overrides = named ? { 'service.name': named } : {}
  startNodeSdk({
    // Not the SDK's own detectors: they put the command line into every export, and flags may hold passwords.
    resourceDetectors: [{ detect: () => ({ attributes }) }],
    resourceAttributes: overrides,
    instrumentations: instrumentations({ traces, logs }),
    ...(!traces && { spanProcessors: [] }),
    ...(!logs && { logRecordProcessors: [] }),
    // They are pushed by the provider that serves them at /metrics, so that both say the same.
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

  // A service ends its shutdown with shutdownTelemetry(); this is for commands that just run to their end.
  process.once('beforeExit', () => void shutdownTelemetry())
}

// What OTEL_RESOURCE_ATTRIBUTES says goes over these.
function processAttributes() {
  return {
    'service.name': serviceNameOf(process.argv[1]),
    'service.namespace': 'parley',
    'service.version': version,
    'service.instance.id': randomUUID(),
    'host.name': hostname(),
    'process.pid': process.pid,
  }
}

/** `services/messaging/src/main.ts` is `messaging`; what is no service, such as all of them in one process, is `parley`. */
function serviceNameOf(script = '') {
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

// The instrumentation patches the CommonJS exports when they are first required; `import { request } from 'node:http'`
// sees that only after a sync.
function patchBuiltins() {
  const require = createRequire(import.meta.url)
  require('node:http')
  require('node:https')
  syncBuiltinESMExports()
}
