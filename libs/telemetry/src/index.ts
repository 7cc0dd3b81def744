export type { BoundCounter, BoundHistogram, Counter, Histogram, Observation } from './instruments.ts'
export { type CreateLogger, createLogger, type Logger } from './logger.ts'
export type { CounterDefinition, LabelSets, MetricDefinition } from './metric-definition.ts'
export { type CreateMetrics, createMetrics, type Metrics } from './metrics.ts'
export { type ServeMetrics, serveMetrics } from './metrics-server.ts'
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
