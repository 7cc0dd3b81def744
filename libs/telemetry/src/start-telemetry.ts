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
 * Starts the OpenTelemetry SDK for these signals. The standard `OTEL_*` variables set the receiver and the sampling. Must run before any
 * traced module is loaded.
 */
export async function startTelemetry({ traces, metrics, logs }: TelemetrySignals): Promise<void> {
  // Before the SDK, which registers no hooks for ES modules: ioredis would not be traced.
  register({ include: patchedModules })

  const attributes = processAttributes()
  const named = telemetryServiceName()
  const overrides = named ? { 'service.name': named } : {}
  startNodeSdk({
    // Not the SDK's own detectors: they export the command line, and flags may contain passwords.
    resourceDetectors: [{ detect: () => ({ attributes }) }],
    resourceAttributes: overrides,
    instrumentations: instrumentations({ traces, logs }),
    ...(!traces && { spanProcessors: [] }),
    ...(!logs && { logRecordProcessors: [] }),
    // The provider that serves /metrics pushes them, so both show the same values.
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

  // For commands that run to their end. A service calls shutdownTelemetry() itself.
  process.once('beforeExit', () => void shutdownTelemetry())
}

// OTEL_RESOURCE_ATTRIBUTES overrides these.
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

/** `messaging` for `services/messaging/src/main.ts`; `parley` for other scripts. */
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

// The instrumentation patches the CommonJS exports when they are first required. `import { request } from 'node:http'` sees the patch only
// after a sync.
function patchBuiltins() {
  const require = createRequire(import.meta.url)
  require('node:http')
  require('node:https')
  syncBuiltinESMExports()
}
