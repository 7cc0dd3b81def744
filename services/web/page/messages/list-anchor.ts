import type { RowLayout } from './row-layout.ts'

/** The position of a row in the viewport after scrolling to it. `nearest` does not scroll if the row is visible. */
export type Align = 'start' | 'center' | 'nearest'

type Anchor =
  | 'end'
  /** `offset` is the distance of the row's top from the top of the viewport, in pixels. */
  | { key: string; offset: number }
  | { key: string; align: Align }

export interface ListAnchorOptions<Row> {
  /** Whether a row can be the anchor. A day line cannot, because it moves when older messages of the same day are added. */
  canBeAnchor: (row: Row) => boolean
  /** Whether the list stays at its end when rows are added there. */
  followsEnd: () => boolean
}

/** The row, or the end of the list, that keeps its position in the viewport while other rows are added, removed or resized. */
export function createListAnchor<Row extends { key: string }>(
  layout: RowLayout<Row>,
  viewport: { height: () => number; scrollTop: () => number },
  { canBeAnchor, followsEnd }: ListAnchorOptions<Row>,
) {
  let anchor: Anchor = 'end'

  /** The scroll position at the end of the list. */
  const endTop = () => Math.max(0, layout.total() - viewport.height())

  /** The scroll position at which the anchor keeps its position in the viewport. */
  function top(): number {
    if (anchor === 'end') return endTop()
    const index = layout.indexOf(anchor.key)
    if (index < 0) return Math.min(viewport.scrollTop(), endTop())
    const rowTop = 'offset' in anchor ? layout.top(index) - anchor.offset : alignedTop(index, anchor.align)
    return Math.min(Math.max(0, rowTop), endTop())
  }

  function alignedTop(index: number, align: Align): number {
    const [rowTop, rowBottom, height] = [layout.top(index), layout.bottom(index), viewport.height()]
    if (align === 'start') return rowTop
    if (align === 'center') return (rowTop + rowBottom - height) / 2
    const now = viewport.scrollTop()
    // A row that is higher than the viewport shows its beginning.
    if (rowTop < now || rowBottom - rowTop > height) return rowTop
    return rowBottom > now + height ? rowBottom - height : now
  }

  return {
    endTop,
    top,
    /** Whether the list scrolls to the anchor even where the browser would keep the position. */
    isForced: () => anchor === 'end' || 'align' in anchor,
    /** The index of the row that keeps its distance from the top of the viewport. -1 when there is none. */
    rowIndex: () => (anchor !== 'end' && 'offset' in anchor ? layout.indexOf(anchor.key) : -1),

    /** Makes the first row that is visible at this scroll position and can be the anchor the anchor. */
    setAt(position: number) {
      if (position >= endTop() - 1 && followsEnd()) {
        anchor = 'end'
        return
      }
      const rows = layout.rows()
      const first = layout.indexAt(position)
      let index = layout.top(first) < position ? first + 1 : first
      while (index < rows.length && !canBeAnchor(rows[index]!)) index++
      if (index >= rows.length || layout.top(index) > position + viewport.height()) index = first
      const row = rows[index]
      anchor = row ? { key: row.key, offset: layout.top(index) - position } : 'end'
    },
    setEnd() {
      anchor = 'end'
    },
    setRow(key: string, align: Align) {
      const index = layout.indexOf(key)
      const isNearest = align === 'nearest' && index >= 0
      anchor = isNearest ? { key, offset: layout.top(index) - alignedTop(index, align) } : { key, align }
    },
    /** Makes a row the anchor, at its present distance from the top of the viewport. */
    hold(key: string) {
      const index = layout.indexOf(key)
      if (index >= 0) anchor = { key, offset: layout.top(index) - viewport.scrollTop() }
    },

    /** Replaces an anchor whose row is about to be removed: by the next row that remains, or by the last one before it. */
    replace(newest: readonly Row[]) {
      const rows = layout.rows()
      const index = anchor === 'end' ? -1 : layout.indexOf(anchor.key)
      if (index < 0) return
      const remaining = new Set(newest.map(({ key }) => key))
      if (remaining.has(rows[index]!.key)) return
      const isCandidate = (row: Row) => canBeAnchor(row) && remaining.has(row.key)
      let next = rows.findIndex((row, at) => at > index && isCandidate(row))
      if (next < 0) next = rows.findLastIndex((row, at) => at < index && isCandidate(row))
      if (next < 0) return
      const removedPx = rows
        .slice(index, Math.max(index, next))
        .reduce((sum, { key }, at) => (remaining.has(key) ? sum : sum + layout.height(index + at)), 0)
      anchor = { key: rows[next]!.key, offset: layout.top(next) - removedPx - top() }
    },
  }
}
