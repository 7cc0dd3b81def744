import type { Attributes } from '@opentelemetry/api'
import { PrometheusSerializer } from '@opentelemetry/exporter-prometheus'
import { AggregationTemporality, InstrumentType, MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics'
import { version } from '@parley/config/version'
import {
  type Counter,
  createCounter,
  createHistogram,
  type Gauge,
  type Histogram,
  type Observation,
} from './instruments.ts'
import type { Logger } from './logger.ts'
import type { CounterDefinition, LabelSets, MetricDefinition } from './metric-definition.ts'
import { takeMetricPush } from './metric-push.ts'
import { metric } from './names.ts'
import { droppedViews, observeProcess } from './process-metrics.ts'

export interface Metrics {
  /** The same definition always answers the same instrument, so services that share a process share it. */
  counter<Sets extends LabelSets>(definition: CounterDefinition<Sets>): Counter<Sets>
  histogram<Label extends string>(definition: MetricDefinition<'histogram', Label>): Histogram<Label>
  gauge: Gauge
  /** Everything in Prometheus' text format. */
  text(): Promise<string>
  /** Ends all observations. */
  close(): Promise<void>
}

export interface CreateMetrics {
  /** Name of the process: value of `parley_service_info`'s label. */
  service: string
  /** Told of observations that fail. */
  logger?: Logger
}

const observationTimeoutMs = 2_000
const pushTimeoutMs = 2_000

/**
 * The metrics of one process, which every service in it gets handed; those of the process itself are in them from the start.
 * They are read at /metrics, and pushed by OTLP as well where the preload was asked to.
 */
export function createMetrics({ service, logger }: CreateMetrics): Metrics {
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

  const once = <Instrument>(definition: MetricDefinition, make: () => Instrument) => {
    const made = (instruments.get(definition.name) as Instrument | undefined) ?? make()
    instruments.set(definition.name, made)
    return made
  }

  const metrics: Metrics = {
    counter: (definition) => once(definition, () => createCounter(meter, definition)),
    histogram: (definition) => once(definition, () => createHistogram(meter, definition)),
    gauge(definition, observe) {
      const { name, description } = definition
      const instrument = once(definition, () => meter.createObservableGauge(name, { description }))
      const callback = async (result: { observe(value: number, labels?: Attributes): void }) => {
        const observed = await observe()
        if (typeof observed === 'number') result.observe(observed)
        else for (const { value, labels } of observed as readonly Observation<string>[]) result.observe(value, labels)
      }
      instrument.addCallback(callback)
      return () => instrument.removeCallback(callback)
    },
    async text() {
      const { resourceMetrics, errors } = await reader.collect({ timeoutMillis: observationTimeoutMs })
      if (errors.length > 0) failures.add(errors.length)
      for (const err of errors) logger?.warn({ err }, 'a metric could not be observed')
      return serializer.serialize(resourceMetrics)
    },
    async close() {
      // A collector that is away must not hold up the process.
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

// The package's own exporter shows the last value of a gauge for ever, also when it can no longer be read. As a delta it is
// shown only when this scrape observed it.
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
