export type RowLayout<Row extends { key: string }> = ReturnType<typeof createRowLayout<Row>>

/**
 * The heights and positions of the rows of a list, in pixels. `known` has the heights of rows that were rendered, by key. The heights of
 * other rows are estimated.
 */
export function createRowLayout<Row extends { key: string }>(
  known: ReadonlyMap<string, number>,
  estimate: (row: Row) => number,
) {
  let rows: readonly Row[] = []
  let heights = new Float64Array(0)
  /** The distance of each row's top from the top of the list. The last entry is the height of the list. */
  let tops = new Float64Array(1)

  function computeTops(from: number) {
    for (let index = from; index < heights.length; index++) tops[index + 1] = tops[index]! + heights[index]!
  }

  return {
    setRows(newest: readonly Row[]) {
      rows = newest
      heights = Float64Array.from(rows, (row) => known.get(row.key) ?? estimate(row))
      tops = new Float64Array(rows.length + 1)
      computeTops(0)
    },
    /** Changes the height of one row. Call `computeTops` after the last change. */
    setHeight(index: number, height: number) {
      heights[index] = height
    },
    /** Computes the tops of the rows after this one, because its height or the height of later rows has changed. */
    computeTops,

    rows: () => rows,
    indexOf: (key: string) => rows.findIndex((row) => row.key === key),

    /** The height of the list. */
    total: () => tops[rows.length]!,
    height: (index: number) => heights[index]!,
    top: (index: number) => tops[index]!,
    bottom: (index: number) => tops[index + 1]!,

    /** The index of the row at this distance from the top of the list. Beyond the end it is the last row. */
    indexAt(top: number): number {
      let [low, high] = [0, Math.max(0, rows.length - 1)]
      while (low < high) {
        const middle = (low + high + 1) >> 1
        if (tops[middle]! <= top) low = middle
        else high = middle - 1
      }
      return low
    },
  }
}
