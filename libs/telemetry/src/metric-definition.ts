export type MetricKind = 'counter' | 'gauge' | 'histogram'

/** What a metric is called, counts and is divided by. `Label` is the union of its label names, `never` for none. */
export interface MetricDefinition<Kind extends MetricKind = MetricKind, Label extends string = string> {
  kind: Kind
  name: string
  description: string
  labels: readonly Label[]
  /** Upper bounds of a histogram's buckets, in the metric's unit. */
  buckets?: readonly number[]
}

/** Label names with every value they can have; null where only the caller knows them. */
export type LabelSets = Readonly<Record<string, readonly string[] | null>>

export interface CounterDefinition<Sets extends LabelSets = LabelSets>
  extends MetricDefinition<'counter', keyof Sets & string> {
  values: Sets
}

/**
 * A counter: only grows; its name ends with `_total`. Its label values are listed, so that each series exists with 0 before
 * its first step: `rate` and `increase` do not see the step that creates a series.
 */
export function counter<const Sets extends LabelSets = Record<never, null>>(
  name: `${string}_total`,
  description: string,
  values: Sets = {} as Sets,
): CounterDefinition<Sets> {
  return { kind: 'counter', name, description, labels: Object.keys(values), values }
}

/** A gauge: read when somebody scrapes. */
export function gauge<const Label extends string = never>(
  name: string,
  description: string,
  labels: readonly Label[] = [],
): MetricDefinition<'gauge', Label> {
  return { kind: 'gauge', name, description, labels }
}

/** A histogram with the given upper bounds of its buckets. */
export function histogram<const Label extends string = never>(
  name: string,
  description: string,
  buckets: readonly number[],
  labels: readonly Label[] = [],
): MetricDefinition<'histogram', Label> {
  return { kind: 'histogram', name, description, labels, buckets }
}
