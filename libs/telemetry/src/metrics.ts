import type { Attributes, Meter } from '@opentelemetry/api'
import { PrometheusSerializer } from '@opentelemetry/exporter-prometheus'
import { AggregationTemporality, InstrumentType, MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics'
import type { Logger } from './logger.ts'
import type { MetricDefinition } from './metric-definition.ts'
import { metric } from './names.ts'
import { observeProcess } from './process-metrics.ts'

/** Values of all labels of a metric; absent for a metric without labels. */
type LabelValues<Label extends string> = [Label] extends [never] ? [] : [labels: Readonly<Record<Label, string>>]

export interface BoundCounter {
  /** Adds `amount` (1 unless given), which must not be negative. */
  add(amount?: number): void
}

export interface BoundHistogram {
  record(value: number): void
}

export interface Counter<Label extends string> {
  /** The counter for these label values. Bind once and keep it where it is called often: adding is then one addition. */
  with(...labels: LabelValues<Label>): BoundCounter
}

export interface Histogram<Label extends string> {
  /** The histogram for these label values; bind once and keep it where it is called often. */
  with(...labels: LabelValues<Label>): BoundHistogram
}

export interface Observation<Label extends string> {
  value: number
  labels: Readonly<Record<Label, string>>
}

type Observed<Label extends string> = [Label] extends [never] ? number : readonly Observation<Label>[]

export interface Metrics {
  /** The same definition always answers the same instrument, so services that share a process share it. */
  counter<Label extends string>(definition: MetricDefinition<'counter', Label>): Counter<Label>
  histogram<Label extends string>(definition: MetricDefinition<'histogram', Label>): Histogram<Label>
  /**
   * Has `observe` called at each scrape; it may ask a database. One that fails or takes longer than 2 s is left out of that
   * scrape and counted. Answers a function that ends the observation.
   */
  gauge<Label extends string>(
    definition: MetricDefinition<'gauge', Label>,
    observe: () => Observed<Label> | Promise<Observed<Label>>,
  ): () => void
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

/** The metrics of one process, which every service in it gets handed; the event loop and memory are in them from the start. */
export function createMetrics({ service, logger }: CreateMetrics): Metrics {
  const reader = new ScrapedReader()
  const meter = new MeterProvider({ readers: [reader] }).getMeter('parley')
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
      stopObserving()
      await reader.shutdown()
    },
  }

  const failures = metrics.counter(metric.observationFailures).with()
  metrics.gauge(metric.serviceInfo, () => [{ value: 1, labels: { service } }])
  const stopObserving = observeProcess(metrics)

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

// The API has no counters bound to their attributes, and hashing those costs a microsecond: count in a plain number, and
// show it when somebody asks.
function createCounter<Label extends string>(
  meter: Meter,
  definition: MetricDefinition<'counter', Label>,
): Counter<Label> {
  const series = new Map<string, { labels: Attributes; value: number; add(amount?: number): void }>()
  meter.createObservableCounter(definition.name, { description: definition.description }).addCallback((result) => {
    for (const { value, labels } of series.values()) result.observe(value, labels)
  })

  const bind = (labels: Attributes) => ({
    labels,
    value: 0,
    add(amount = 1) {
      this.value += amount
    },
  })
  const counter: Counter<Label> = { with: (...[labels]) => boundOnce(series, definition, labels, bind) }
  // A counter without labels starts at 0 rather than at its first use, so that rates and alerts see its first step.
  if (definition.labels.length === 0) boundOnce(series, definition, undefined, bind)
  return counter
}

function createHistogram<Label extends string>(
  meter: Meter,
  definition: MetricDefinition<'histogram', Label>,
): Histogram<Label> {
  const series = new Map<string, BoundHistogram>()
  const instrument = meter.createHistogram(definition.name, {
    description: definition.description,
    advice: { explicitBucketBoundaries: [...(definition.buckets ?? [])] },
  })

  const bind = (labels: Attributes) => ({ record: (value: number) => instrument.record(value, labels) })
  return { with: (...[labels]) => boundOnce(series, definition, labels, bind) }
}

function boundOnce<Bound>(
  series: Map<string, Bound>,
  definition: MetricDefinition,
  labels: Readonly<Record<string, string>> | undefined,
  bind: (labels: Attributes) => Bound,
): Bound {
  const values = labels ?? {}
  const key = definition.labels.map((name) => values[name]).join('\u0000')
  const known = series.get(key)
  if (known) return known

  const bound = bind(Object.freeze({ ...values }))
  series.set(key, bound)
  return bound
}
