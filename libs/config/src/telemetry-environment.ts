/**
 * Whether this process is to send traces: somebody named where to (`OTEL_EXPORTER_OTLP_ENDPOINT` or its traces form) or how
 * (`OTEL_TRACES_EXPORTER`), and nobody said no. Everything else about tracing (protocol, headers, sampler, service name) the
 * OpenTelemetry SDK reads from its own standard variables.
 *
 * Imports nothing: it runs in every process before anything else, also in those that trace nothing.
 */
export function telemetryEnabled(environment: NodeJS.ProcessEnv = process.env): boolean {
  const { OTEL_SDK_DISABLED, OTEL_TRACES_EXPORTER } = environment
  if (OTEL_SDK_DISABLED?.toLowerCase() === 'true' || OTEL_TRACES_EXPORTER === 'none') return false

  const { OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT } = environment
  return Boolean(OTEL_EXPORTER_OTLP_ENDPOINT || OTEL_EXPORTER_OTLP_TRACES_ENDPOINT || OTEL_TRACES_EXPORTER)
}

/** The name that the environment gives the service in its traces; undefined where it gives none. */
export function telemetryServiceName(environment: NodeJS.ProcessEnv = process.env): string | undefined {
  return environment.OTEL_SERVICE_NAME || undefined
}
