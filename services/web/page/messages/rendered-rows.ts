import type { RowLayout } from './row-layout.ts'

/** Rows from `from` up to `to`, which is not one of them. */
export interface Run {
  from: number
  to: number
}

/** Decides which rows are rendered: those in and near the viewport, and single rows that are kept anywhere else. */
export function createRenderedRows<Row extends { key: string }>(
  layout: RowLayout<Row>,
  viewport: { height: () => number; bufferPx: () => number },
) {
  /** The rows in the viewport and in the buffers above and below it. */
  let near: Run = { from: 0, to: 0 }
  /** The key of the first of them. */
  let firstKey: string | undefined
  /** All rows that are in the document. */
  let runs: readonly Run[] = []

  function setNear(newest: Run) {
    near = newest
    firstKey = layout.rows()[near.from]?.key
  }

  return {
    runs: () => runs,

    /** Whether at least half of each buffer is rendered at this scroll position. */
    isEnough(top: number): boolean {
      const neededPx = viewport.bufferPx() / 2
      return (
        layout.top(near.from) <= Math.max(0, top - neededPx) &&
        layout.top(near.to) >= Math.min(layout.total(), top + viewport.height() + neededPx)
      )
    },

    /** Chooses the rows in and near the viewport at this scroll position. */
    moveTo(top: number) {
      const bufferPx = viewport.bufferPx()
      const isEmpty = layout.rows().length === 0
      setNear({
        from: layout.indexAt(top - bufferPx),
        to: isEmpty ? 0 : layout.indexAt(top + viewport.height() + bufferPx) + 1,
      })
    },

    /** Keeps the chosen rows, which may have other indexes now. Returns false if the first one was removed. */
    stay(): boolean {
      const from = firstKey === undefined ? -1 : layout.indexOf(firstKey)
      if (from < 0) return false
      setNear({ from, to: Math.min(from + near.to - near.from, layout.rows().length) })
      return true
    },

    /** The runs of rows to render, in order, and the heights of the gaps before, between and after them. */
    plan(keptIndexes: readonly number[]): { runs: readonly Run[]; gaps: number[] } {
      const { length } = layout.rows()
      const isApart = (index: number) => index >= 0 && index < length && (index < near.from || index >= near.to)
      const apart = [...new Set(keptIndexes)].filter(isApart).map((from) => ({ from, to: from + 1 }))
      runs = [near, ...apart].sort((one, next) => one.from - next.from)
      const ends = [0, ...runs.map((run) => layout.top(run.to))]
      const begins = [...runs.map((run) => layout.top(run.from)), layout.total()]
      return { runs, gaps: begins.map((begin, index) => begin - ends[index]!) }
    },
  }
}
