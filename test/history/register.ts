/** A write to a register, which has one value at a time. */
export interface Write<V> {
  value: V
  invoked: number
  /** Infinity when it is not known whether, or when, it took effect. */
  completed: number
  /** The write may have had no effect, so that the previous value may still be valid. */
  isDoubtful?: boolean
}

/** A period of time. `to`, the moment of an acknowledgement, is excluded. */
export interface Span {
  from: number
  to: number
}

/** The initial value. */
export const initially = <V>(value: V): Write<V> => ({ value, invoked: -Infinity, completed: -Infinity })

/**
 * The periods in which the value may have been `value`. A write takes effect at some moment between its beginning and
 * its end. Its value is certainly replaced after the end of an acknowledged write of another value that began after the
 * end of this one. (A write without a reply may still be running, so it is never certainly replaced.)
 */
export function possibleSpans<V>(writes: readonly Write<V>[], value: V): Span[] {
  const sorted = writes.toSorted((one, other) => one.invoked - other.invoked)
  const spans = sorted.flatMap((write, index) => {
    if (write.value !== value) return []
    let to = Infinity
    for (let next = index + 1; next < sorted.length; next++) {
      const later = sorted[next]!
      if (later.invoked >= to) break
      if (later.value !== value && !later.isDoubtful && later.invoked > write.completed)
        to = Math.min(to, later.completed)
    }
    return [{ from: write.invoked, to }]
  })
  return union(spans)
}

/** The possible values at the end, after all operations. */
export const possibleFinally = <V>(writes: readonly Write<V>[]): Set<V> =>
  new Set(
    writes
      .filter(
        (write) =>
          !writes.some(
            (later) =>
              later.value !== write.value &&
              !later.isDoubtful &&
              later.invoked > write.completed &&
              later.completed < Infinity,
          ),
      )
      .map(({ value }) => value),
  )

export function union(spans: readonly Span[]): Span[] {
  const joined: Span[] = []
  for (const span of spans.toSorted((one, other) => one.from - other.from)) {
    const last = joined.at(-1)
    if (last && span.from <= last.to) last.to = Math.max(last.to, span.to)
    else joined.push({ ...span })
  }
  return joined
}

export const intersection = (some: readonly Span[], others: readonly Span[]): Span[] =>
  some.flatMap((one) =>
    others
      .map((other) => ({ from: Math.max(one.from, other.from), to: Math.min(one.to, other.to) }))
      .filter(({ from, to }) => from < to),
  )

/** Whether any of the spans touches the time from `from` to `to`, both included. */
export const touches = (spans: readonly Span[], from: number, to: number): boolean =>
  spans.some((span) => span.from <= to && span.to > from)
