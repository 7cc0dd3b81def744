import { randomUUID } from 'node:crypto'
import { createRequire, syncBuiltinESMExports } from 'node:module'
import { hostname } from 'node:os'
import { startNodeSdk } from '@opentelemetry/sdk-node'
import { telemetryServiceName } from '@parley/config/telemetry-environment'
import { register } from 'import-in-the-middle/register-hooks.mjs'
import { instrumentations, patchedModules } from './instrumentations.ts'
import { shutdownTracing } from './tracing.ts'

/**
 * Starts the OpenTelemetry SDK for traces; where they go and how many are sampled is up to the standard `OTEL_*` variables.
 * Metrics are scraped (`serveMetrics`) and logs are written to standard output, so the SDK's own signals for them stay off.
 * Must run before any module it traces is loaded.
 */
export function startTracing(): void {
  // Before the SDK: it registers nothing for ES modules itself, and ioredis would go untraced.
  register({ include: patchedModules })

  const named = telemetryServiceName()
  startNodeSdk({
    // Not the SDK's own detectors: they put the command line into every export, and flags may hold passwords.
    resourceDetectors: [{ detect: () => ({ attributes: processAttributes() }) }],
    resourceAttributes: named ? { 'service.name': named } : {},
    instrumentations: instrumentations(),
    metricReaders: [],
    logRecordProcessors: [],
  })
  patchBuiltins()

  // A service ends its shutdown with shutdownTracing(); this is for commands that just run to their end.
  process.once('beforeExit', () => void shutdownTracing())
}

// What OTEL_RESOURCE_ATTRIBUTES says goes over these.
function processAttributes() {
  return {
    'service.name': serviceNameOf(process.argv[1]),
    'service.namespace': 'parley',
    'service.instance.id': randomUUID(),
    'host.name': hostname(),
    'process.pid': process.pid,
  }
}

/** `services/messaging/src/main.ts` is `messaging`; what is no service, such as all of them in one process, is `parley`. */
function serviceNameOf(script = '') {
  return script.match(/[\\/]services[\\/]([^\\/]+)[\\/]/)?.[1] ?? 'parley'
}

// The instrumentation patches the CommonJS exports when they are first required; `import { request } from 'node:http'`
// sees that only after a sync.
function patchBuiltins() {
  const require = createRequire(import.meta.url)
  require('node:http')
  require('node:https')
  syncBuiltinESMExports()
}
