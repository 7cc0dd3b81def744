/** Several measurements of one thing. */
export interface Spread {
  median: number
  low: number
  high: number
}

export function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b)
  return { median: percentile(sorted, 0.5), low: sorted[0]!, high: sorted.at(-1)! }
}

/** A percentile of ascending values, by linear interpolation between the two nearest values. */
export function percentile(sorted: readonly number[], part: number): number {
  const place = (sorted.length - 1) * part
  const below = sorted[Math.floor(place)] ?? Number.NaN
  const above = sorted[Math.ceil(place)] ?? Number.NaN
  return below + (above - below) * (place - Math.floor(place))
}

/** The result of one side in one round. */
export interface Sample {
  /** Rate of what is counted: sends, deliveries. */
  perSecond: number
  p50Ms: number
  p99Ms: number
  /** How many were counted. */
  count: number
  /** Microseconds of processor time for each one that was counted, by the process that used them. */
  processorUs?: Record<string, number>
}

export function sampleOf(count: number, seconds: number, latenciesMs: number[]): Sample {
  const sorted = latenciesMs.sort((a, b) => a - b)
  return { count, perSecond: count / seconds, p50Ms: percentile(sorted, 0.5), p99Ms: percentile(sorted, 0.99) }
}

export interface Rounds {
  ours: Sample[]
  theirs: Sample[]
}

/** Measures both sides in turns, so that other work of the machine affects both alike. */
export async function inTurns(
  rounds: number,
  sides: { ours: () => Promise<Sample>; theirs: () => Promise<Sample> },
): Promise<Rounds> {
  const measured: Rounds = { ours: [], theirs: [] }
  for (let round = 0; round < rounds; round++) {
    measured.theirs.push(await sides.theirs())
    measured.ours.push(await sides.ours())
  }
  return measured
}
