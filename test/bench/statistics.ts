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
export function percentile(sorted: ArrayLike<number>, part: number): number {
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

export function sampleOf(count: number, seconds: number, latenciesMs: readonly number[] | Durations): Sample {
  const sorted = Float64Array.from(latenciesMs).sort()
  return { count, perSecond: count / seconds, p50Ms: percentile(sorted, 0.5), p99Ms: percentile(sorted, 0.99) }
}

const durationsPerBlock = 65_536

/**
 * Millions of durations, in milliseconds. An array of this size is copied each time it grows, which would delay the
 * streams that are being measured.
 */
export class Durations implements Iterable<number> {
  #full: Float64Array[] = []
  #block = new Float64Array(durationsPerBlock)
  #used = 0

  add(milliseconds: number): void {
    this.#block[this.#used++] = milliseconds
    if (this.#used < durationsPerBlock) return
    this.#full.push(this.#block)
    this.#block = new Float64Array(durationsPerBlock)
    this.#used = 0
  }

  *[Symbol.iterator](): Generator<number> {
    for (const block of this.#full) yield* block
    yield* this.#block.subarray(0, this.#used)
  }
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
