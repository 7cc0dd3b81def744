/**
 * The signals that this process sends by OTLP. This file runs in every process before anything else, also in those that
 * send nothing, so it imports nothing. Endpoints, protocols, headers, samplers and the service's name are the standard
 * `OTEL_*` variables, which the OpenTelemetry SDK reads itself.
 */
export interface TelemetrySignals {
  /** Somebody named a collector (`OTEL_EXPORTER_OTLP_ENDPOINT` or its traces form) or an exporter (`OTEL_TRACES_EXPORTER`). */
  traces: boolean
  /** `OTEL_METRICS_EXPORTER=otlp`. They are served at `/metrics` as well. */
  metrics: boolean
  /** `OTEL_LOGS_EXPORTER=otlp`. They go to standard output as well. */
  logs: boolean
}

export function telemetrySignals(environment: NodeJS.ProcessEnv = process.env): TelemetrySignals {
  if (environment.OTEL_SDK_DISABLED?.toLowerCase() === 'true') return { traces: false, metrics: false, logs: false }
  const { OTEL_TRACES_EXPORTER, OTEL_METRICS_EXPORTER, OTEL_LOGS_EXPORTER } = environment
  const { OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT } = environment
  const isNamed = OTEL_EXPORTER_OTLP_ENDPOINT || OTEL_EXPORTER_OTLP_TRACES_ENDPOINT || OTEL_TRACES_EXPORTER
  return {
    traces: Boolean(isNamed) && OTEL_TRACES_EXPORTER !== 'none',
    metrics: isOtlp(OTEL_METRICS_EXPORTER),
    logs: isOtlp(OTEL_LOGS_EXPORTER),
  }
}

/** How metrics are sent. The SDK reads these variables itself only for providers that it creates. */
export function metricExport(environment: NodeJS.ProcessEnv = process.env) {
  const { OTEL_EXPORTER_OTLP_METRICS_PROTOCOL, OTEL_EXPORTER_OTLP_PROTOCOL, OTEL_METRIC_EXPORT_INTERVAL } = environment
  const interval = Number(OTEL_METRIC_EXPORT_INTERVAL)
  return {
    protocol: OTEL_EXPORTER_OTLP_METRICS_PROTOCOL || OTEL_EXPORTER_OTLP_PROTOCOL || 'http/protobuf',
    intervalMs: interval > 0 ? interval : 60_000,
  }
}

/** The name that the environment gives the service in its telemetry; undefined without one. */
export function telemetryServiceName(environment: NodeJS.ProcessEnv = process.env): string | undefined {
  return environment.OTEL_SERVICE_NAME || undefined
}

const isOtlp = (exporters = '') => exporters.split(',').some((exporter) => exporter.trim() === 'otlp')
