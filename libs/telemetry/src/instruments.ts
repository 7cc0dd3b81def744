import type { Attributes, Meter } from '@opentelemetry/api'

type MetricKind = 'counter' | 'gauge' | 'histogram'

/** A metric: its name, what it measures, and its labels. `Label` is the union of its label names, `never` for none. */
export interface MetricDefinition<Kind extends MetricKind = MetricKind, Label extends string = string> {
  kind: Kind
  name: string
  description: string
  labels: readonly Label[]
  /** Upper bounds of a histogram's buckets, in the metric's unit. */
  buckets?: readonly number[]
}

/** Label names with their values; null where the values are known only when the metric is recorded. */
export type LabelSets = Readonly<Record<string, readonly string[] | null>>

export interface CounterDefinition<Sets extends LabelSets = LabelSets>
  extends MetricDefinition<'counter', keyof Sets & string> {
  values: Sets
}

/**
 * A counter only grows, and its name ends with `_total`. Its label values are listed, so that every series exists with
 * 0 before its first increment: `rate` and `increase` do not see an increment that creates a series.
 */
export function counter<const Sets extends LabelSets = Record<never, null>>(
  name: `${string}_total`,
  description: string,
  values: Sets = {} as Sets,
): CounterDefinition<Sets> {
  return { kind: 'counter', name, description, labels: Object.keys(values), values }
}

/** A gauge is read at each scrape. */
export function gauge<const Label extends string = never>(
  name: string,
  description: string,
  labels: readonly Label[] = [],
): MetricDefinition<'gauge', Label> {
  return { kind: 'gauge', name, description, labels }
}

/** A histogram; `buckets` are the upper bounds of its buckets. */
export function histogram<const Label extends string = never>(
  name: string,
  description: string,
  buckets: readonly number[],
  labels: readonly Label[] = [],
): MetricDefinition<'histogram', Label> {
  return { kind: 'histogram', name, description, labels, buckets }
}

/** The values of all labels; absent for a metric without labels. */
type LabelValues<Label extends string> = [Label] extends [never] ? [] : [labels: Readonly<Record<Label, string>>]

export interface BoundCounter {
  /** Adds `amount` (1 unless given), which must not be negative. */
  add(amount?: number): void
}

interface BoundHistogram {
  record(value: number): void
}

export interface Counter<Sets extends LabelSets> {
  /** The counter for these label values. Call it once and keep the result where counting is frequent. */
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
  /** The histogram for these label values. Call it once and keep the result where recording is frequent. */
  with(...labels: LabelValues<Label>): BoundHistogram
}

export interface Observation<Label extends string> {
  value: number
  labels: Readonly<Record<Label, string>>
}

type Observed<Label extends string> = [Label] extends [never] ? number : readonly Observation<Label>[]

/**
 * Calls `observe` at each scrape; it may query a database. When it fails or takes longer than 2 s, the gauge is missing from that
 * scrape, and the failure is counted. Returns a function that ends the observation.
 */
export type Gauge = <Label extends string>(
  definition: MetricDefinition<'gauge', Label>,
  observe: () => Observed<Label> | Promise<Observed<Label>>,
) => () => void

/** Creates the counter with all its series at 0, see `counter`. */
export function createCounter<Sets extends LabelSets>(
  meter: Meter,
  definition: CounterDefinition<Sets>,
): Counter<Sets> {
  const series = new Map<string, BoundCounter>()
  const instrument = meter.createCounter(definition.name, { description: definition.description })

  const bind = (labels: Attributes) => {
    instrument.add(0, labels)
    return { add: (amount = 1) => instrument.add(amount, labels) }
  }
  for (const labels of everyCombination(definition.values)) boundOnce(series, definition, labels, bind)
  return { with: (...[labels]) => boundOnce(series, definition, labels, bind) }
}

/** Every combination of the label values; none when the values of a label are not listed. */
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
