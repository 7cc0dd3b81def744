export { createFailureLog, type FailureLog } from './failure-log.ts'
export type {
  BoundCounter,
  Counter,
  CounterDefinition,
  Histogram,
  LabelSets,
  MetricDefinition,
  Observation,
} from './instruments.ts'
export { createLogger, type Logger } from './logger.ts'
export { createMetrics, type Metrics } from './metrics.ts'
export { serveMetrics } from './metrics-server.ts'
export { everyMetric, label, logField, metric, spanAttribute, spanName } from './names.ts'
export { createOutageLog, type OutageLog } from './outage-log.ts'
export { withoutQuery } from './redaction.ts'
export {
  type Attributes,
  contextFromTraceparent,
  currentTraceparent,
  inSpan,
  type Span,
  SpanKind,
  shutdownTelemetry,
  tracer,
} from './tracing.ts'
