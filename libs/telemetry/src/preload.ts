/**
 * Loaded before a service with `node --import @parley/telemetry/preload …`. Loads OpenTelemetry's SDK only when the environment asks for
 * traces, metrics or logs by OTLP.
 */
import { telemetrySignals } from '@parley/config/telemetry-environment'

const signals = telemetrySignals()
if (signals.traces || signals.metrics || signals.logs) {
  const { startTelemetry } = await import('./start-telemetry.ts')
  await startTelemetry(signals)
}
