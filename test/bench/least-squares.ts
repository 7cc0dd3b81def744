const sweeps = 20_000
const smallestChange = 1e-9

/**
 * Finds what each cause costs when it happens once. `causes[n]` says how often each cause happened in measurement n,
 * and `totals[n]` what all of them together used there. The result are the costs that fit all measurements best (least
 * squares), none of them below 0. Each cost in turn is set to its best value while the others stay, until the costs no
 * longer change.
 */
export function fitCosts(causes: readonly (readonly number[])[], totals: readonly number[]): number[] {
  const count = causes[0]?.length ?? 0
  const dot = (one: (row: number) => number, other: (row: number) => number) =>
    causes.reduce((sum, _, row) => sum + one(row) * other(row), 0)
  const column = (index: number) => (row: number) => causes[row]![index]!
  const indices = Array.from({ length: count }, (_, index) => index)
  const products = indices.map((one) => indices.map((other) => dot(column(one), column(other))))
  const explained = indices.map((index) => dot(column(index), (row) => totals[row]!))

  const costs = new Array<number>(count).fill(0)
  for (let sweep = 0; sweep < sweeps; sweep++) {
    let change = 0
    for (const index of indices) {
      const own = products[index]![index]!
      if (own === 0) continue
      const others =
        indices.reduce((sum, other) => sum + products[index]![other]! * costs[other]!, 0) - own * costs[index]!
      const best = Math.max(0, (explained[index]! - others) / own)
      change = Math.max(change, Math.abs(best - costs[index]!) / Math.max(best, 1e-12))
      costs[index] = best
    }
    if (change < smallestChange) break
  }
  return costs
}
