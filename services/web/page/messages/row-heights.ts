import type { CacheSnapshot } from 'virtua'
import type { Row } from './rows.ts'

/** So many of a workspace are kept: some thirty channels with the messages that were in sight. */
const mostKept = 2_000
/** Stands in a snapshot of virtua for a row that was not drawn yet. */
const unknown = -1

interface Heights {
  /** By the key of the row, in pixels; what was drawn last stands last. */
  byKey: Map<string, number>
  /** What virtua takes for rows that were not drawn. */
  usual: number | undefined
}

/** They go when the workspace ends. */
const heightsOf = new WeakMap<object, Heights>()

/**
 * Keeps the heights of rows that were drawn. A list that is opened again draws the right rows in its first frame then,
 * and does not have to move them once it has measured them. Heights that have changed since then are measured as ever.
 */
export function keepHeights(workspace: object, rows: readonly Row[], [sizes, usual]: CacheSnapshot) {
  const heights = heightsOf.get(workspace) ?? { byKey: new Map<string, number>(), usual }
  heightsOf.set(workspace, heights)
  for (const [index, { key }] of rows.entries()) {
    const height = sizes[index] ?? unknown
    if (height === unknown) continue
    heights.byKey.delete(key)
    heights.byKey.set(key, height)
  }
  for (const key of heights.byKey.keys()) {
    if (heights.byKey.size <= mostKept) break
    heights.byKey.delete(key)
  }
}

/** The heights of these rows as a list takes them, if any of them was drawn before. */
export function keptHeights(workspace: object, rows: readonly Row[]): CacheSnapshot | undefined {
  const heights = heightsOf.get(workspace)
  if (!heights || !rows.some(({ key }) => heights.byKey.has(key))) return undefined
  return [rows.map(({ key }) => heights.byKey.get(key) ?? unknown), heights.usual]
}
