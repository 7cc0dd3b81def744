import type { RequestOptions } from 'node:http'
import otel from '@fastify/otel'
import { HttpInstrumentation } from '@opentelemetry/instrumentation-http'
import { IORedisInstrumentation } from '@opentelemetry/instrumentation-ioredis'
import { PgInstrumentation } from '@opentelemetry/instrumentation-pg'
import { PinoInstrumentation } from '@opentelemetry/instrumentation-pino'
import { UndiciInstrumentation } from '@opentelemetry/instrumentation-undici'
import { spanAttribute } from './names.ts'
import { withoutQuery } from './redaction.ts'

/** Modules that the ES module loader hooks have to intercept for these instrumentations. */
export const patchedModules = ['pg', 'pg-pool', 'ioredis', 'fastify', 'undici', 'pino']

/**
 * The instrumentations that record requests in and out, statements and Redis commands as spans, and log lines as records. No span has a
 * query string, a header, values of a statement, arguments of a command or the address of a client.
 */
export function instrumentations({ traces, logs }: { traces: boolean; logs: boolean }) {
  return [...(traces ? [http(), undici(), fastify(), pg(), redis()] : []), ...(logs ? [pino()] : [])]
}

function http() {
  return new HttpInstrumentation({
    ignoreIncomingRequestHook: ({ url = '/' }) => isProbe(withoutQuery(url)),
    startIncomingSpanHook: () => ({
      [spanAttribute.urlQuery]: undefined,
      [spanAttribute.clientAddress]: undefined,
      [spanAttribute.peerAddress]: undefined,
    }),
    startOutgoingSpanHook: (request) => ({ [spanAttribute.urlFull]: outgoingUrl(request) }),
  })
}

function undici() {
  return new UndiciInstrumentation({
    ignoreRequestHook: ({ path }) => isProbe(withoutQuery(path)),
    startSpanHook: ({ origin, path }) => ({
      [spanAttribute.urlFull]: new URL(withoutQuery(path), origin).href,
      [spanAttribute.urlQuery]: undefined as unknown as string,
    }),
  })
}

// Adds the route to the server span. Spans of hooks and handlers would add nothing to the request's span.
function fastify() {
  return new otel.FastifyOtelInstrumentation({
    registerOnInitialization: true,
    instrumentHooks: false,
    instrumentHandler: false,
    ignorePaths: ({ url }) => isProbe(withoutQuery(url)),
    requestHook: (span, request) => span.setAttribute(spanAttribute.urlPath, withoutQuery(request.url)),
  })
}

// Only below a span: the relay looks for work ten times a second, which must not create traces.
function pg() {
  return new PgInstrumentation({ requireParentSpan: true, ignoreConnectSpans: true, enhancedDatabaseReporting: false })
}

function redis() {
  return new IORedisInstrumentation({ requireParentSpan: true, dbStatementSerializer: (command) => command })
}

// Sends each line as it was written, with secrets redacted. The logger adds the trace itself.
function pino() {
  return new PinoInstrumentation({ disableLogCorrelation: true })
}

function isProbe(path: string) {
  return path === '/metrics' || path === '/health' || path.startsWith('/health/')
}

function outgoingUrl({ protocol, hostname, host, port, path }: RequestOptions) {
  const name = hostname ?? host ?? 'localhost'
  const authority = port && !name.includes(':') ? `${name}:${port}` : name
  return `${protocol ?? 'http:'}//${authority}${withoutQuery(path ?? '/')}`
}
