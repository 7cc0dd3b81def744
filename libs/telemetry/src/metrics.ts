import type { Attributes } from '@opentelemetry/api'
import { PrometheusSerializer } from '@opentelemetry/exporter-prometheus'
import type { Resource } from '@opentelemetry/resources'
import { AggregationTemporality, InstrumentType, MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics'
import { version } from '@parley/config/version'
import { createFailureLog } from './failure-log.ts'
import {
  type Counter,
  type CounterDefinition,
  createCounter,
  createHistogram,
  type Gauge,
  type Histogram,
  type LabelSets,
  type MetricDefinition,
  type Observation,
} from './instruments.ts'
import type { Logger } from './logger.ts'
import { metric } from './names.ts'
import { droppedViews, observeProcess } from './process-metrics.ts'

export interface Metrics {
  /** The same definition always gives the same instrument, so services in one process share it. */
  counter<Sets extends LabelSets>(definition: CounterDefinition<Sets>): Counter<Sets>
  histogram<Label extends string>(definition: MetricDefinition<'histogram', Label>): Histogram<Label>
  gauge: Gauge
  /** All metrics in Prometheus' text format. */
  text(): Promise<string>
  /** Ends all observations. */
  close(): Promise<void>
}

interface MetricsOptions {
  /** Name of the process, for the label of `parley_service_info`. */
  service: string
  /** Logs when gauges cannot be read, once for each cause. */
  logger?: Logger
}

const observationTimeoutMs = 2_000
const pushTimeoutMs = 2_000

/**
 * The metrics of one process, which all its services share. They include CPU, memory and event loop of the process.
 * They are served at /metrics, and also pushed by OTLP when the preload has prepared that.
 */
export function createMetrics({ service, logger }: MetricsOptions): Metrics {
  const reader = new ScrapedReader()
  const push = takeMetricPush()
  const provider = new MeterProvider({
    resource: push?.resource,
    readers: push ? [reader, push.reader] : [reader],
    views: droppedViews,
  })
  const meter = provider.getMeter('parley')
  const serializer = new PrometheusSerializer(undefined, false, undefined, true, true)
  const instruments = new Map<string, unknown>()
  /** The gauges that could not be read at the current scrape, by name. */
  const unread = new Map<string, unknown>()
  const failureLog = logger && createFailureLog(logger, 'gauges could not be read')

  const makeOnce = <Instrument>(definition: MetricDefinition, make: () => Instrument) => {
    const made = (instruments.get(definition.name) as Instrument | undefined) ?? make()
    instruments.set(definition.name, made)
    return made
  }

  const metrics: Metrics = {
    counter: (definition) => makeOnce(definition, () => createCounter(meter, definition)),
    histogram: (definition) => makeOnce(definition, () => createHistogram(meter, definition)),
    gauge(definition, observe) {
      const { name, description } = definition
      const instrument = makeOnce(definition, () => meter.createObservableGauge(name, { description }))
      const callback = async (result: { observe(value: number, labels?: Attributes): void }) => {
        const observed = await inTime(observe).catch((error) => {
          unread.set(name, error)
          throw error
        })
        if (typeof observed === 'number') result.observe(observed)
        else for (const { value, labels } of observed as readonly Observation<string>[]) result.observe(value, labels)
      }
      instrument.addCallback(callback)
      return () => instrument.removeCallback(callback)
    },
    async text() {
      unread.clear()
      const { resourceMetrics, errors } = await reader.collect()
      if (errors.length > 0) failures.add(errors.length)
      if (errors.length === 0) failureLog?.succeeded()
      else failureLog?.failed(errors[0], 'warn', { gauges: [...unread.keys()] })
      return serializer.serialize(resourceMetrics)
    },
    async close() {
      // An unreachable collector must not delay the end of the process.
      await provider.shutdown({ timeoutMillis: pushTimeoutMs }).catch((err) => {
        logger?.warn({ err }, 'the last metrics could not be sent')
      })
      stopObserving()
    },
  }

  const failures = metrics.counter(metric.observationFailures).with()
  const labels = { service, version, node_version: process.version }
  metrics.gauge(metric.serviceInfo, () => [{ value: 1, labels }])
  const stopObserving = observeProcess(provider, meter)

  return metrics
}

/** The value of a gauge. A source that does not answer must not delay the other metrics. @throws after 2 s. */
async function inTime<Value>(observe: () => Value | Promise<Value>): Promise<Value> {
  const late = Promise.withResolvers<never>()
  const reason = new Error(`no value within ${observationTimeoutMs} ms`)
  const timer = setTimeout(late.reject, observationTimeoutMs, reason)
  try {
    return await Promise.race([observe(), late.promise])
  } finally {
    clearTimeout(timer)
  }
}

// OpenTelemetry's exporter keeps showing the last value of a gauge that cannot be read any more. With delta temporality
// a gauge is shown only when this scrape observed it.
class ScrapedReader extends MetricReader {
  constructor() {
    super({
      aggregationTemporalitySelector: (type) =>
        type === InstrumentType.OBSERVABLE_GAUGE ? AggregationTemporality.DELTA : AggregationTemporality.CUMULATIVE,
    })
  }

  protected override async onShutdown() {}

  protected override async onForceFlush() {}
}

interface MetricPush {
  reader: MetricReader
  resource: Resource
}

let prepared: MetricPush | undefined

/** Makes `createMetrics` push the metrics as well. Called by the preload, which must not load the rest of the SDK. */
export function prepareMetricPush(push: MetricPush): void {
  prepared = push
}

/** Returns the reader only once, since a reader belongs to one provider. */
function takeMetricPush(): MetricPush | undefined {
  const taken = prepared
  prepared = undefined
  return taken
}
