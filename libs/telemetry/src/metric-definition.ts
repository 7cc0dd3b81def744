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

/** A counter: only grows; its name ends with `_total`. */
export function counter<const Label extends string = never>(
  name: `${string}_total`,
  description: string,
  labels: readonly Label[] = [],
): MetricDefinition<'counter', Label> {
  return { kind: 'counter', name, description, labels }
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
