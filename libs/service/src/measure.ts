import { type Metrics, metric } from '@parley/telemetry'
import type { FastifyInstance } from 'fastify'

/**
 * Rate, errors and duration of every route, under its template and never its path. Event streams are left out, because they
 * last as long as their client stays. Health checks are too: they are many and fast, and would hide slow and failing requests.
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
