/**
 * Loaded before a service with `node --import @parley/telemetry/preload …`. Loads nothing of OpenTelemetry's SDK and patches
 * nothing unless the environment asks for traces.
 */
import { telemetryEnabled } from '@parley/config/telemetry-environment'

if (telemetryEnabled()) {
  const { startTracing } = await import('./start-tracing.ts')
  startTracing()
}
