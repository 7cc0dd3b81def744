import { type Logger, type Metrics, metric, withoutQuery } from '@parley/telemetry'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

const userAgentLength = 300

/**
 * Writes one log line for each request when its response has ended or its client has left. The line of an event stream is
 * written at the end of the stream. The query is left out, because it may have tokens and search texts, and so are all
 * headers except the user agent. The line has the client's address, so other lines with the same `requestId` can be
 * traced to it. It is written at every `log.level`.
 */
export function createAccessLog(logger: Logger) {
  const lines = logger.child({}, { level: 'info' })

  return function logAccess(request: FastifyRequest, { raw }: FastifyReply): void {
    const startedAt = performance.now()
    const { socket } = request.raw
    const sentBefore = socket.bytesWritten
    raw.once('close', () => {
      lines.info(
        {
          requestId: request.id,
          method: request.method,
          path: withoutQuery(request.originalUrl),
          route: request.routeOptions?.url,
          // Undefined when the client left before there was a response.
          status: raw.headersSent ? raw.statusCode : undefined,
          isComplete: raw.writableFinished,
          durationMs: Math.round(performance.now() - startedAt),
          bytesSent: socket.bytesWritten - sentBefore,
          clientAddress: request.ip,
          userId: request.claims?.userId,
          userAgent: request.headers['user-agent']?.slice(0, userAgentLength),
        },
        'request',
      )
    })
  }
}

/**
 * Measures rate, errors and duration of every route, by its template and never by its path. Event streams are left out,
 * because they last as long as their client stays. Health checks are left out too, because there are many of them and
 * they are fast, so they would hide slow and failing requests.
 */
export function measureRequests(app: FastifyInstance, metrics: Metrics): void {
  const durations = metrics.histogram(metric.requestDuration)
  app.addHook('onResponse', (request, reply, done) => {
    const { url = 'unknown' } = request.routeOptions
    if (url !== '/events' && !isHealthCheck(url)) {
      durations
        .with({
          http_request_method: request.method,
          http_route: url,
          http_response_status_code: String(reply.statusCode),
        })
        .record(reply.elapsedTime / 1000)
    }
    done()
  })
}

const isHealthCheck = (route: string) => route === '/health' || route.startsWith('/health/')

type Request = Pick<FastifyRequest, 'id' | 'log'>

// The following lines are those that operators search for: sign-ins, failed sign-ins, ended sessions. Each has its
// request's id and no address. The audit log has the client's address, and so has the access log if it is enabled.

/** Logs a sign-in, and the sessions that ended because the user had too many. */
export const logSignIn = (
  request: Request,
  { userId, sessionId, method, replaced }: { userId: string; sessionId: string; method: string; replaced: string[] },
) => {
  request.log.info({ requestId: request.id, userId, sessionId, method }, 'signed in')
  if (replaced.length > 0) logSessionEnd(request, { userId, sessionIds: replaced, reason: 'replaced' })
}

/** Logs a failed sign-in. `userId` is undefined when there is no such account. */
export const logFailedSignIn = (
  request: Request,
  facts: { method: string; reason: string; userId?: string | undefined; err?: unknown },
) => request.log.info({ requestId: request.id, ...facts }, 'a sign-in failed')

/** Logs that a limit of wrong passwords was reached, after which sign-ins are refused for a while. */
export const logSignInLimit = (request: Request, facts: { scope: string; userId?: string | undefined }) =>
  request.log.warn({ requestId: request.id, ...facts }, 'a limit of wrong passwords was reached')

/** Logs ended sessions. Without `sessionIds` all sessions of the user ended, or all but the current one. */
export const logSessionEnd = (request: Request, facts: { userId?: string; sessionIds?: string[]; reason: string }) =>
  request.log.info({ requestId: request.id, ...facts }, 'sessions ended')
