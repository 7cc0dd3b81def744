/** A change of something that has one value at a time. */
export interface Write<V> {
  value: V
  invoked: number
  /** Infinity when nobody knows whether, or when, it took place. */
  completed: number
  /** It may have been no write at all: what was so before may still be so afterwards. */
  isDoubtful?: boolean
}

/** A stretch of time; `to`, the moment of an acknowledgement, is not in it any more. */
export interface Span {
  from: number
  to: number
}

/** What was so before anybody wrote. */
export const initially = <V>(value: V): Write<V> => ({ value, invoked: -Infinity, completed: -Infinity })

/**
 * When the value may have been `value`. A write may take place at any moment between its two ends; its value is surely gone
 * once an acknowledged write of another value is over that began after this one was over. (A write without an answer may
 * still be under way somewhere, so nothing ever surely replaces it.)
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

/** What may be the value in the end, when all is quiet. */
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
