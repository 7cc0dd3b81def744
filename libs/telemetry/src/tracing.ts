import {
  type Attributes,
  type Context,
  context,
  isSpanContextValid,
  type Link,
  logs,
  ProxyTracerProvider,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api'

export { type Attributes, type Span, SpanKind } from '@opentelemetry/api'

/** The tracer of our own spans. Without the preload they are not recorded and cost almost nothing. */
export const tracer = trace.getTracer('parley')

interface SpanOptions {
  /** `SpanKind.INTERNAL` unless given. */
  kind?: SpanKind
  attributes?: Attributes
  /** Traceparents of other traces to which this work also belongs, such as those of the items of a batch. Nulls are left out. */
  links?: readonly (string | null)[]
  /**
   * The traceparent to continue instead of the active span. With `null` the work belongs to no trace, and nothing is recorded.
   */
  parent?: string | null
}

/**
 * Runs `fn` inside a span, which is active during `fn` and ends when `fn` returns, throws or settles. An error is recorded and
 * rethrown. It marks the span as failed unless its `statusCode` is below 500.
 */
export function inSpan<T>(name: string, options: SpanOptions, fn: (span: Span) => T): T {
  const { kind = SpanKind.INTERNAL, attributes, links, parent } = options
  const base = parent === undefined ? context.active() : contextFromTraceparent(parent)
  const span =
    parent === null
      ? trace.wrapSpanContext(noTrace)
      : tracer.startSpan(name, { kind, attributes, links: linksTo(links) }, base)

  return context.with(trace.setSpan(base, span), () => settle(span, fn))
}

/** The W3C traceparent of the active span; null without one, or when it is not sampled. */
export function currentTraceparent(): string | null {
  const active = trace.getActiveSpan()?.spanContext()
  if (!active || !(active.traceFlags & TraceFlags.SAMPLED) || !isSpanContextValid(active)) return null
  return `00-${active.traceId}-${active.spanId}-01`
}

/** A context with this parent span; the root context for null and for a malformed traceparent. */
export function contextFromTraceparent(traceparent: string | null): Context {
  const remote = parseTraceparent(traceparent)
  return remote ? trace.setSpanContext(ROOT_CONTEXT, remote) : ROOT_CONTEXT
}

/**
 * Sends the buffered spans and log lines. Call it last in a graceful shutdown. Gives up after `timeoutMs` (2 s), because an unreachable
 * collector must not delay the end of the process.
 */
export async function shutdownTelemetry({ timeoutMs = 2_000 } = {}): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, timeoutMs)
  try {
    await Promise.race([Promise.all([trace.getTracerProvider(), logs.getLoggerProvider()].map(shutDown)), late])
  } catch {
    // The exporter has reported the error through the diagnostics logger. A lost trace must not make a shutdown fail.
  } finally {
    clearTimeout(timer)
  }
}

async function shutDown(provider: object): Promise<void> {
  const real: object = provider instanceof ProxyTracerProvider ? provider.getDelegate() : provider
  if ('shutdown' in real && typeof real.shutdown === 'function') await real.shutdown()
}

const noTrace: SpanContext = { traceId: '0'.repeat(32), spanId: '0'.repeat(16), traceFlags: TraceFlags.NONE }

function settle<T>(span: Span, fn: (span: Span) => T): T {
  let result: T
  try {
    result = fn(span)
  } catch (error) {
    fail(span, error)
    throw error
  }
  if (!isPromiseLike(result)) {
    span.end()
    return result
  }
  return result.then(
    (value) => {
      span.end()
      return value
    },
    (error) => {
      fail(span, error)
      throw error
    },
  ) as T
}

function fail(span: Span, error: unknown) {
  const exception = error instanceof Error ? error : new Error(String(error))
  span.recordException(exception)
  if (!isRefusal(error)) span.setStatus({ code: SpanStatusCode.ERROR, message: exception.message })
  span.end()
}

function isRefusal(error: unknown) {
  return (
    error instanceof Error && 'statusCode' in error && typeof error.statusCode === 'number' && error.statusCode < 500
  )
}

function isPromiseLike(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'
}

function linksTo(traceparents: readonly (string | null)[] = []): Link[] {
  return traceparents.flatMap((traceparent) => {
    const spanContext = parseTraceparent(traceparent)
    return spanContext ? [{ context: spanContext }] : []
  })
}

// https://www.w3.org/TR/trace-context/#traceparent-header, version 00. The outbox holds no other version.
const traceparentForm = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/

function parseTraceparent(traceparent: string | null): SpanContext | undefined {
  const [, traceId, spanId, flags] = traceparent?.match(traceparentForm) ?? []
  if (!traceId || !spanId || !flags) return undefined

  const spanContext = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true }
  return isSpanContextValid(spanContext) ? spanContext : undefined
}
