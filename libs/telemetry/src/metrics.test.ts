import { version } from '@parley/config/version'
import { afterAll, describe, expect, test } from 'vitest'
import { createMetrics, everyMetric, metric, serveMetrics } from './index.ts'

describe('metrics', () => {
  const warnings: unknown[] = []
  const logger = { warn: (fields: unknown) => warnings.push(fields) }
  const metrics = createMetrics({ service: 'solo', logger: logger as never })
  afterAll(() => metrics.close())

  test('count by label values', async () => {
    metrics.counter(metric.deliveries).with({ audience: 'channel' }).add(3)
    metrics.counter(metric.deliveries).with({ audience: 'channel' }).add()
    metrics.counter(metric.deliveries).with({ audience: 'everyone' }).add()

    const text = await metrics.text()
    expect(text).toContain('# TYPE parley_deliveries_total counter')
    expect(text).toContain('parley_deliveries_total{audience="channel"} 4')
    expect(text).toContain('parley_deliveries_total{audience="everyone"} 1')
  })

  test('show a counter with 0 for every value of its labels before its first step', async () => {
    const relayed = metrics.counter(metric.eventsRelayed).with()
    const ended = metrics.counter(metric.streamsEnded)
    const before = await metrics.text()
    expect(before).toContain('parley_events_relayed_total 0')
    for (const reason of metric.streamsEnded.values.reason)
      expect(before).toContain(`parley_streams_ended_total{reason="${reason}"} 0`)

    relayed.add(2)
    ended.with({ reason: 'reset' }).add(250)
    const after = await metrics.text()
    expect(after).toContain('parley_events_relayed_total 2')
    expect(after).toContain('parley_streams_ended_total{reason="reset"} 250')
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

  test('read gauges with labels asynchronously', async () => {
    const end = metrics.gauge(metric.queueDepth, async () => [
      { value: 5, labels: { queue: 'mail', state: 'waiting' } },
    ])
    expect(await metrics.text()).toContain('parley_queue_depth{queue="mail",state="waiting"} 5')
    end()
  })

  test('leave out a gauge that fails, log it, and show all others', async () => {
    let lag = async () => 3
    const endLag = metrics.gauge(metric.outboxLag, () => lag())
    const endDepth = metrics.gauge(metric.outboxDepth, () => 4)
    expect(await metrics.text()).toMatch(/^parley_outbox_lag_seconds 3$/m)

    lag = () => Promise.reject(new Error('no database'))
    const text = await metrics.text()
    expect(text).not.toMatch(/^parley_outbox_lag_seconds /m)
    expect(text).toMatch(/^parley_outbox_depth 4$/m)
    expect(warnings).toEqual([
      { err: expect.objectContaining({ message: 'no database' }), gauges: ['parley_outbox_lag_seconds'] },
    ])
    expect(await metrics.text()).toMatch(/^parley_metrics_observation_failures_total 1$/m)
    endLag()
    endDepth()
  })

  test('have version, processor, memory, heap, garbage collection, event loop and open files from the start', async () => {
    await expect.poll(() => metrics.text()).toMatch(/^nodejs_eventloop_delay_p99 [\d.e-]+$/m)
    // Allocates objects until a collection has run. V8 cannot be told to collect.
    const afterGarbage = () => {
      expect(Array.from({ length: 200_000 }, (_, index) => ({ index }))).toHaveLength(200_000)
      return metrics.text()
    }
    await expect.poll(afterGarbage).toMatch(/^v8js_gc_duration_count\{v8js_gc_type="minor"\} \d+$/m)

    const text = await metrics.text()
    expect(text).toContain(
      `parley_service_info{service="solo",version="${version}",node_version="${process.version}"} 1`,
    )
    expect(text).toMatch(/^process_cpu_seconds_total [\d.]+$/m)
    expect(text).toMatch(/^process_resident_memory_bytes \d+$/m)
    expect(text).toMatch(/^process_start_time_seconds [\d.]+$/m)
    expect(text).toMatch(/^nodejs_eventloop_utilization [\d.e-]+$/m)
    expect(text).toMatch(/^v8js_memory_heap_used\{v8js_heap_space_name="old_space"\} \d+$/m)
    if (process.platform !== 'linux') return
    expect(text).toMatch(/^process_open_fds \d+$/m)
    expect(text).toMatch(/^process_max_fds \d+$/m)
  })

  test('are all named in docs/telemetry.md', async () => {
    const named = Object.values(everyMetric).map(({ name }) => name)
    const shown = [...(await metrics.text()).matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name!)
    expect(shown.filter((name) => !named.includes(name as (typeof named)[number]))).toEqual([])
  })

  test('are served at /metrics and nowhere else', async () => {
    const server = await serveMetrics({ metrics, host: '127.0.0.1', port: 0 })
    const ask = (path: string, method = 'GET') => fetch(`http://127.0.0.1:${server.port}${path}`, { method })

    const response = await ask('/metrics')
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toContain('text/plain; version=0.0.4')
    expect(await response.text()).toContain('parley_service_info')
    expect((await ask('/')).status).toBe(404)
    expect((await ask('/metrics', 'POST')).status).toBe(405)

    await server.close()
    await expect(ask('/metrics')).rejects.toThrow()
  })
})
