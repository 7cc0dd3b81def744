import { isSpanContextValid, trace } from '@opentelemetry/api'
import { type DestinationStream, type Logger, type LoggerOptions as PinoOptions, pino } from 'pino'
import { logField } from './names.ts'
import { redacted, secretKeys, withoutQuery, withoutQueryValues, withoutSecrets } from './redaction.ts'

export type { Logger } from 'pino'

interface LoggerOptions {
  /** Value of the field `service`. */
  service: string
  /** Lowest level that is written: `trace`, `debug`, `info`, `warn`, `error`, `fatal` or `silent`. */
  level: string
  /** The destination of the lines; standard output unless given. */
  destination?: DestinationStream
}

/**
 * A pino logger that writes one JSON line per entry. Lines carry the `trace_id` and `span_id` of the active span. Credentials are
 * redacted by key, URLs lose their query, and errors keep only listed fields (a database error's `detail` quotes the row). Log a
 * constant message and put the facts into fields.
 */
export function createLogger({ service, level, destination }: LoggerOptions): Logger {
  const options: PinoOptions = {
    level,
    base: { [logField.service]: service, pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }), log: withoutSecrets },
    mixin: traceFields,
    // The formatter redacts the fields of an entry at any depth. This also redacts the fields of a child logger.
    redact: { paths: secretKeys.map((key) => `["${key}"]`), censor: redacted },
    serializers: { err: errorFields, error: errorFields, req: requestFields, res: responseFields, url: urlField },
  }
  return destination ? pino(options, destination) : pino(options)
}

// A new object each time, because pino writes the entry's fields into it.
function traceFields(): Record<string, unknown> {
  const context = trace.getActiveSpan()?.spanContext()
  if (!context || !isSpanContextValid(context)) return {}
  return { [logField.traceId]: context.traceId, [logField.spanId]: context.spanId }
}

function requestFields(request: { method?: string; url?: string }) {
  return { method: request.method, url: urlField(request.url) }
}

function responseFields(response: { statusCode?: number }) {
  return { statusCode: response.statusCode }
}

function urlField(url: unknown) {
  return typeof url === 'string' ? withoutQuery(url) : undefined
}

/** Whether a server could not be reached. The stack trace of such an error says nothing. */
function isConnectionFault(error: Error & { code?: unknown }): boolean {
  if (error.name === 'DatabaseUnreachable' || lostConnection.test(error.message)) return true
  return typeof error.code === 'string' && (networkCodes.has(error.code) || /^(08...|57P0.)$/.test(error.code))
}

/** Messages of the PostgreSQL driver's errors, which have no code. */
const lostConnection = /^Connection terminated|connection error and is not queryable/

const networkCodes = new Set([
  'EAI_AGAIN',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
])

const errorFacts = ['code', 'statusCode', 'constraint', 'table', 'column', 'syscall', 'signal'] as const
const deepestCause = 4

function errorFields(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error)) return typeof error === 'string' ? withoutQueryValues(error) : error

  const fields: Record<string, unknown> = {
    type: error.name,
    message: withoutQueryValues(error.message),
    stack: isConnectionFault(error) ? undefined : error.stack && withoutQueryValues(error.stack),
  }
  for (const fact of errorFacts) {
    if (fact in error) fields[fact] = (error as unknown as Record<string, unknown>)[fact]
  }
  if (error.cause !== undefined && depth < deepestCause) fields.cause = errorFields(error.cause, depth + 1)
  if (error instanceof AggregateError && depth < deepestCause) {
    fields.errors = error.errors.map((each) => errorFields(each, depth + 1))
  }
  return fields
}
