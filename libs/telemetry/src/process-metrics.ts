import { readdirSync, readFileSync } from 'node:fs'
import type { Meter, MeterProvider } from '@opentelemetry/api'
import { RuntimeNodeInstrumentation } from '@opentelemetry/instrumentation-runtime-node'
import { AggregationType, type ViewOptions } from '@opentelemetry/sdk-metrics'
import { metric } from './names.ts'

/** Metrics of the runtime instrumentation that we do not need. */
export const droppedViews: ViewOptions[] = [
  'nodejs.eventloop.delay.min',
  'nodejs.eventloop.delay.mean',
  'nodejs.eventloop.delay.stddev',
  'nodejs.eventloop.time',
  'v8js.memory.heap.space.*',
  'v8js.resource.active',
].map((instrumentName) => ({ instrumentName, aggregation: { type: AggregationType.DROP } }))

/**
 * Observes the runtime of this process (event loop, garbage collection, heap) with OpenTelemetry's instrumentation. It
 * also observes CPU, memory and open files, which the instrumentation lacks, under the names that Prometheus client
 * libraries use. Returns a function that stops the observation.
 */
export function observeProcess(provider: MeterProvider, meter: Meter): () => void {
  const runtime = new RuntimeNodeInstrumentation()
  runtime.setMeterProvider(provider)

  meter.createObservableCounter(metric.cpuSeconds.name, metric.cpuSeconds).addCallback((result) => {
    const { user, system } = process.cpuUsage()
    result.observe((user + system) / 1e6)
  })
  const gauges = [
    [metric.residentMemory, () => process.memoryUsage.rss()],
    [metric.startTime, () => performance.timeOrigin / 1000],
    [metric.openFiles, countOpenFiles],
    [metric.maxFiles, findMaxFiles],
  ] as const
  for (const [definition, read] of gauges) {
    meter.createObservableGauge(definition.name, definition).addCallback((result) => {
      const value = read()
      if (value !== undefined) result.observe(value)
    })
  }
  return () => runtime.disable()
}

/** Undefined except on Linux. */
function countOpenFiles(): number | undefined {
  if (process.platform !== 'linux') return undefined
  // The read of the directory itself opens one file.
  return readdirSync('/proc/self/fd').length - 1
}

function findMaxFiles(): number | undefined {
  if (process.platform !== 'linux') return undefined
  const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
  return soft === undefined ? undefined : Number(soft)
}
