import { afterAll, describe, expect, test } from 'vitest'
import { createMetrics, metric, serveMetrics } from './index.ts'

describe('metrics', () => {
  const warnings: unknown[] = []
  const logger = { warn: (fields: unknown) => warnings.push(fields) }
  const metrics = createMetrics({ service: 'solo', logger: logger as never })
  afterAll(() => metrics.close())

  test('count what was added, by label values', async () => {
    metrics.counter(metric.deliveries).with({ audience: 'channel' }).add(3)
    metrics.counter(metric.deliveries).with({ audience: 'channel' }).add()
    metrics.counter(metric.deliveries).with({ audience: 'everyone' }).add()

    const text = await metrics.text()
    expect(text).toContain('# TYPE parley_deliveries_total counter')
    expect(text).toContain('parley_deliveries_total{audience="channel"} 4')
    expect(text).toContain('parley_deliveries_total{audience="everyone"} 1')
  })

  test('show a counter without labels before its first step', async () => {
    const counter = metrics.counter(metric.eventsRelayed).with()
    expect(await metrics.text()).toContain('parley_events_relayed_total 0')
    counter.add(2)
    expect(await metrics.text()).toContain('parley_events_relayed_total 2')
  })

  test('have the request duration as a histogram with the names of the semantic conventions', async () => {
    const labels = {
      http_request_method: 'POST',
      http_route: '/channels/:channelId/messages',
      http_response_status_code: '200',
    }
    const duration = metrics.histogram(metric.requestDuration).with(labels)
    duration.record(0.004)
    duration.record(0.3)

    const text = await metrics.text()
    const series =
      'http_request_method="POST",http_route="/channels/:channelId/messages",http_response_status_code="200"'
    expect(text).toContain('# TYPE http_server_request_duration_seconds histogram')
    expect(text).toContain(`http_server_request_duration_seconds_count{${series}} 2`)
    expect(text).toContain(`http_server_request_duration_seconds_bucket{${series},le="0.005"} 1`)
    expect(text).toContain(`http_server_request_duration_seconds_bucket{${series},le="+Inf"} 2`)
  })

  test('read a gauge at each scrape until its observation ends', async () => {
    let open = 7
    const end = metrics.gauge(metric.streamsOpen, () => open)
    expect(await metrics.text()).toContain('parley_streams_open 7')
    open = 8
    expect(await metrics.text()).toContain('parley_streams_open 8')
    end()
    expect(await metrics.text()).not.toContain('parley_streams_open 8')
  })

  test('read gauges with labels from something that answers later', async () => {
    const end = metrics.gauge(metric.queueDepth, async () => [
      { value: 5, labels: { queue: 'mail', state: 'waiting' } },
    ])
    expect(await metrics.text()).toContain('parley_queue_depth{queue="mail",state="waiting"} 5')
    end()
  })

  test('leave out a gauge that fails, also when it worked before, say so, and show all others', async () => {
    let lag = async () => 3
    const endLag = metrics.gauge(metric.outboxLag, () => lag())
    const endDepth = metrics.gauge(metric.outboxDepth, () => 4)
    expect(await metrics.text()).toMatch(/^parley_outbox_lag_seconds 3$/m)

    lag = () => Promise.reject(new Error('no database'))
    const text = await metrics.text()
    expect(text).not.toMatch(/^parley_outbox_lag_seconds /m)
    expect(text).toMatch(/^parley_outbox_depth 4$/m)
    expect(warnings).toEqual([{ err: expect.objectContaining({ message: 'no database' }) }])
    expect(await metrics.text()).toMatch(/^parley_metrics_observation_failures_total 1$/m)
    endLag()
    endDepth()
  })

  test('have the event loop, the memory and the service from the start', async () => {
    const text = await metrics.text()
    expect(text).toMatch(/^nodejs_eventloop_delay_seconds\{statistic="p99"\} [\d.e-]+$/m)
    expect(text).toMatch(/^process_resident_memory_bytes \d+$/m)
    expect(text).toContain('parley_service_info{service="solo"} 1')
  })

  test('are served at /metrics and nowhere else', async () => {
    const server = await serveMetrics({ metrics, host: '127.0.0.1', port: 0 })
    const ask = (path: string, method = 'GET') => fetch(`http://127.0.0.1:${server.port}${path}`, { method })

    const reply = await ask('/metrics')
    expect(reply.status).toBe(200)
    expect(reply.headers.get('content-type')).toContain('text/plain; version=0.0.4')
    expect(await reply.text()).toContain('parley_service_info')
    expect((await ask('/')).status).toBe(404)
    expect((await ask('/metrics', 'POST')).status).toBe(405)

    await server.close()
    await expect(ask('/metrics')).rejects.toThrow()
  })
})
