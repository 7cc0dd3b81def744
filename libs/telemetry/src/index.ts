export type {
  BoundCounter,
  BoundHistogram,
  Counter,
  CounterDefinition,
  Histogram,
  LabelSets,
  MetricDefinition,
  Observation,
} from './instruments.ts'
export { createLogger, type Logger, type LoggerOptions } from './logger.ts'
export { createMetrics, type Metrics, type MetricsOptions } from './metrics.ts'
export { type MetricsServerOptions, serveMetrics } from './metrics-server.ts'
export { everyMetric, label, logField, metric, spanAttribute, spanName } from './names.ts'
export { withoutQuery } from './redaction.ts'
export {
  type Attributes,
  contextFromTraceparent,
  currentTraceparent,
  inSpan,
  type Span,
  SpanKind,
  type SpanOptions,
  shutdownTelemetry,
  tracer,
} from './tracing.ts'
