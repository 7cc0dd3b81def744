import type { Attributes, Meter } from '@opentelemetry/api'
import type { CounterDefinition, LabelSets, MetricDefinition } from './metric-definition.ts'

/** Values of all labels of a metric; absent for a metric without labels. */
type LabelValues<Label extends string> = [Label] extends [never] ? [] : [labels: Readonly<Record<Label, string>>]

export interface BoundCounter {
  /** Adds `amount` (1 unless given), which must not be negative. */
  add(amount?: number): void
}

export interface BoundHistogram {
  record(value: number): void
}

export interface Counter<Sets extends LabelSets> {
  /** The counter for these label values. Bind once and keep it where it is called often: adding is then one addition. */
  with(
    ...labels: [keyof Sets] extends [never]
      ? []
      : [
          labels: {
            readonly [Label in keyof Sets]: Sets[Label] extends readonly string[] ? Sets[Label][number] : string
          },
        ]
  ): BoundCounter
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

/**
 * Has `observe` called at each scrape; it may ask a database. One that fails or takes longer than 2 s is left out of that
 * scrape and counted. Answers a function that ends the observation.
 */
export type Gauge = <Label extends string>(
  definition: MetricDefinition<'gauge', Label>,
  observe: () => Observed<Label> | Promise<Observed<Label>>,
) => () => void

// The API has no counters bound to their attributes, and hashing those costs a microsecond: count in a plain number, and
// show it when somebody asks.
export function createCounter<Sets extends LabelSets>(
  meter: Meter,
  definition: CounterDefinition<Sets>,
): Counter<Sets> {
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
  for (const labels of everyCombination(definition.values)) boundOnce(series, definition, labels, bind)
  return { with: (...[labels]) => boundOnce(series, definition, labels, bind) }
}

/** Every combination of the label values; none where a label has values that only the caller knows. */
function everyCombination(sets: LabelSets): Record<string, string>[] {
  return Object.entries(sets).reduce<Record<string, string>[]>(
    (combinations, [label, values]) =>
      combinations.flatMap((labels) => (values ?? []).map((value) => ({ ...labels, [label]: value }))),
    [{}],
  )
}

export function createHistogram<Label extends string>(
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
