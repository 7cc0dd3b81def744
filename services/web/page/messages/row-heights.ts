import type { CacheSnapshot } from 'virtua'
import type { Row } from './rows.ts'

/** So many of a workspace are kept: some thirty channels with the messages that were in sight. */
const mostKept = 2_000
/** Stands in a snapshot of virtua for a row that was not drawn yet. */
const unknown = -1

/** By the key of the row, in pixels; what was drawn last stands last. They go when the workspace ends. */
const heightsOf = new WeakMap<object, Map<string, number>>()

/**
 * Keeps the heights of rows that were drawn. A list that is opened again draws the right rows in its first frame then,
 * and does not have to move them once it has measured them. Heights that have changed since then are measured as ever.
 */
export function keepHeights(workspace: object, rows: readonly Row[], [sizes]: CacheSnapshot) {
  const heights = heightsOf.get(workspace) ?? new Map<string, number>()
  heightsOf.set(workspace, heights)
  for (const [index, { key }] of rows.entries()) {
    const height = sizes[index] ?? unknown
    if (height === unknown) continue
    heights.delete(key)
    heights.set(key, height)
  }
  for (const key of heights.keys()) {
    if (heights.size <= mostKept) break
    heights.delete(key)
  }
}

/** What a list takes at its start. */
interface KnownHeights {
  cache: CacheSnapshot
  /**
   * Of rows that were not drawn yet, in pixels. Without it virtua would estimate: it draws nothing beyond the window until it has seen
   * enough heights that are new to it, and kept heights never are.
   */
  itemSize: number
}

/** Undefined when none of these rows was drawn before. */
export function keptHeights(workspace: object, rows: readonly Row[]): KnownHeights | undefined {
  const heights = heightsOf.get(workspace)
  const sizes = rows.map(({ key }) => heights?.get(key) ?? unknown)
  const known = sizes.filter((size) => size !== unknown).sort((a, b) => a - b)
  const median = known[known.length >> 1]
  return median === undefined ? undefined : { cache: [sizes, median], itemSize: median }
}
