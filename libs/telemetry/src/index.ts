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
export { type CreateLogger, createLogger, type Logger } from './logger.ts'
export { type CreateMetrics, createMetrics, type Metrics, type ServeMetrics, serveMetrics } from './metrics.ts'
export { everyMetric, label, logField, metric, spanAttribute, spanName } from './names.ts'
export { withoutQuery } from './redaction.ts'
export {
  type Attributes,
  contextFromTraceparent,
  currentTraceparent,
  type InSpan,
  inSpan,
  type Span,
  SpanKind,
  shutdownTelemetry,
  tracer,
} from './tracing.ts'
