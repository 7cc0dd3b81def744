import { type Metrics, metric } from '@parley/telemetry'
import type { FastifyInstance } from 'fastify'

/** Rate, errors and duration of every route, under its template and never its path. Event streams are not in it. */
export function measureRequests(app: FastifyInstance, metrics: Metrics): void {
  const durations = metrics.histogram(metric.requestDuration)
  app.addHook('onResponse', (request, reply, done) => {
    if (request.routeOptions.url === '/events') return done()
    durations
      .with({
        http_request_method: request.method,
        http_route: request.routeOptions.url ?? 'unknown',
        http_response_status_code: String(reply.statusCode),
      })
      .record(reply.elapsedTime / 1000)
    done()
  })
}
