/** One mistake in the configuration. `key` is a configuration key, or the unknown flag or variable. */
export interface Fault {
  key: string
  message: string
}

/** The faults found so far. A key with a fault is not checked again. */
export type Faults = Fault[]

/** Thrown when the configuration cannot be used. Its message lists every fault on a line of its own and holds no values. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly faults: Fault[]

  constructor(faults: Fault[]) {
    const lines = faults.map(({ key, message }) => `  ${key}: ${message}`)
    super(`The configuration has ${faults.length} fault${faults.length === 1 ? '' : 's'}:\n${lines.join('\n')}`)
    this.faults = faults
  }
}

/** ` Did you mean …?` when a known name is near the written one, else nothing. */
export function didYouMean(written: string, known: Iterable<string>): string {
  const limit = Math.max(2, Math.floor(written.length / 5))
  let best: { name: string; distance: number } | undefined
  for (const name of known) {
    const distance = editDistance(written.toLowerCase(), name.toLowerCase())
    if (distance <= limit && distance < (best?.distance ?? Number.POSITIVE_INFINITY)) best = { name, distance }
  }
  return best ? ` Did you mean ${best.name}?` : ''
}

/** Levenshtein distance, one row at a time. */
function editDistance(left: string, right: string): number {
  let row = Array.from({ length: right.length + 1 }, (_, column) => column)
  for (let i = 1; i <= left.length; i++) {
    const next = [i]
    for (let j = 1; j <= right.length; j++) {
      const substitution = row[j - 1]! + (left[i - 1] === right[j - 1] ? 0 : 1)
      next.push(Math.min(substitution, row[j]! + 1, next[j - 1]! + 1))
    }
    row = next
  }
  return row[right.length]!
}
