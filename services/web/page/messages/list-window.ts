import type { Signal } from '@preact/signals'
import { createRowLayout } from './row-layout.ts'
import { createScrollSpeed } from './scroll-speed.ts'

/** The position of a row in the viewport after scrolling to it. `nearest` does not scroll if the row is visible. */
type Align = 'start' | 'center' | 'nearest'

/** Measured heights in pixels. They outlive a list, so that the next list renders the right rows in its first frame. */
export interface KnownHeights {
  /** The heights of rows that were rendered, by key. */
  rows: Map<string, number>
  /** The height of the viewport. */
  viewport: number
}

/** Rows from `from` up to `to`, which is not one of them. */
interface Run {
  from: number
  to: number
}

/** The row, or the end of the list, that keeps its position in the viewport while other rows are added, removed or resized. */
type Anchor =
  | 'end'
  /** `offset` is the distance of the row's top from the top of the viewport, in pixels. */
  | { key: string; offset: number }
  | { key: string; align: Align }

interface ListWindowOptions<Row> {
  heights: KnownHeights
  /** The estimated height of a row that was not rendered yet, in pixels. */
  estimate: (row: Row) => number
  /** Whether a row can be the anchor. A day line cannot, because it moves when older messages of the same day are added. */
  canBeAnchor: (row: Row) => boolean
  /** Whether the list stays at its end when rows are added there. */
  followsEnd: () => boolean
  /** Set while the person scrolls so fast that no further rows are rendered. */
  isScrollingFast: Signal<boolean>
  /** Called when other rows must be rendered. */
  onRender: () => void
  /** Called after scrolling, and after the rows or the viewport were resized. */
  onMoved: () => void
}

/**
 * The logic of a windowed list. It decides which rows are rendered, and keeps the visible rows at their position. In Chromium and Firefox
 * the browser itself keeps the position (scroll anchoring), which does not interrupt a scroll. Safari before 27 has no scroll anchoring, so
 * this function does it there.
 */
export function createListWindow<Row extends { key: string }>(options: ListWindowOptions<Row>) {
  const { heights, isScrollingFast } = options
  const browserAnchors = CSS.supports('overflow-anchor', 'auto')
  let rows: readonly Row[] = []
  const layout = createRowLayout(heights.rows, options.estimate)
  /** The rows in the viewport and in the buffers above and below it. */
  let near: Run = { from: 0, to: 0 }
  /** The rows that are in the document. */
  let rendered: readonly Run[] = []
  let anchor: Anchor = 'end'
  let height = heights.viewport
  let width = 0
  let bufferPx = 0
  let content: HTMLElement | null = null
  /** The last known scroll position. */
  let lastTop = Number.NaN
  /** By how many pixels the rows from the upper edge of the viewport to the anchor have grown or shrunk. */
  let edgePx = 0
  /** Whether the list itself has scrolled for this frame. The browser anchors nothing before the next one. */
  let hasScrolled = false
  let isHidden = false
  /** Whether the browser is about to scroll to keep the anchor at its position. */
  let isLeftToBrowser = false

  /** While the person scrolls fast, no further rows are rendered. */
  const speed = createScrollSpeed(isScrollingFast, () => {
    renderIfNeeded(currentTop())
    options.onMoved()
  })

  const scroller = () => content?.parentElement ?? null
  /** The scroll position at the end of the list. */
  const endTop = () => Math.max(0, layout.total() - height)
  const currentTop = () => scroller()?.scrollTop ?? endTop()
  const indexOf = (key: string) => rows.findIndex((row) => row.key === key)

  /** The scroll position at which the anchor keeps its position in the viewport. */
  function anchoredTop(): number {
    if (anchor === 'end') return endTop()
    const index = indexOf(anchor.key)
    if (index < 0) return Math.min(currentTop(), endTop())
    const top = 'offset' in anchor ? layout.top(index) - anchor.offset : alignedTop(index, anchor.align)
    return Math.min(Math.max(0, top), endTop())
  }

  function alignedTop(index: number, align: Align): number {
    const [top, bottom] = [layout.top(index), layout.bottom(index)]
    if (align === 'start') return top
    if (align === 'center') return (top + bottom - height) / 2
    const now = currentTop()
    // A row that is higher than the viewport shows its beginning.
    if (top < now || bottom - top > height) return top
    return bottom > now + height ? bottom - height : now
  }

  /** Makes the first visible row that can be the anchor the anchor. */
  function anchorAt(top: number) {
    if (top >= endTop() - 1 && options.followsEnd()) {
      anchor = 'end'
      return
    }
    const atEdge = layout.indexAt(top)
    let index = layout.top(atEdge) < top ? atEdge + 1 : atEdge
    while (index < rows.length && !options.canBeAnchor(rows[index]!)) index++
    if (index >= rows.length || layout.top(index) > top + height) index = atEdge
    const row = rows[index]
    anchor = row ? { key: row.key, offset: layout.top(index) - top } : 'end'
  }

  /** Replaces an anchor whose row is about to be removed: by the next row that remains, or by the last one before it. */
  function replaceAnchor(newest: readonly Row[]) {
    const index = anchor === 'end' ? -1 : indexOf(anchor.key)
    if (index < 0) return
    const remaining = new Set(newest.map(({ key }) => key))
    if (remaining.has(rows[index]!.key)) return
    const isCandidate = (row: Row) => options.canBeAnchor(row) && remaining.has(row.key)
    let next = rows.findIndex((row, at) => at > index && isCandidate(row))
    if (next < 0) next = rows.findLastIndex((row, at) => at < index && isCandidate(row))
    if (next < 0) return
    const removedPx = rows
      .slice(index, Math.max(index, next))
      .reduce((sum, { key }, at) => (remaining.has(key) ? sum : sum + layout.height(index + at)), 0)
    anchor = { key: rows[next]!.key, offset: layout.top(next) - removedPx - anchoredTop() }
  }

  const rowsAround = (top: number): Run => ({
    from: layout.indexAt(top - bufferPx),
    to: rows.length === 0 ? 0 : layout.indexAt(top + height + bufferPx) + 1,
  })

  /** Renders other rows when less than half of a buffer above or below the viewport is rendered. */
  function renderIfNeeded(top: number) {
    const isRendered =
      layout.top(near.from) <= Math.max(0, top - bufferPx / 2) &&
      layout.top(near.to) >= Math.min(layout.total(), top + height + bufferPx / 2)
    if (isRendered) return
    near = rowsAround(top)
    options.onRender()
  }

  /** Measures the viewport and the rendered rows. Returns whether the height of a row has changed. */
  function measure(): boolean {
    const element = scroller()
    if (!element || element.clientHeight === 0) return false
    height = element.clientHeight
    heights.viewport = height
    const end = anchor !== 'end' && 'offset' in anchor ? indexOf(anchor.key) : -1
    const edge = Number.isNaN(lastTop) ? end : Math.min(layout.indexAt(lastTop), end - 1)
    const isKnown = rows.slice(Math.max(0, edge), Math.max(0, end)).map(({ key }) => heights.rows.has(key))
    if (width !== element.clientWidth) {
      // With another width, all rows have other heights. The gaps keep theirs until the next render, and the layout must agree with them.
      if (width > 0) heights.rows.clear()
      width = element.clientWidth
    }
    let firstChanged = Infinity
    let child = content!.firstElementChild
    for (const { from, to } of rendered) {
      // There is a gap element before each run of rows, and one after the last run.
      child = child!.nextElementSibling
      let top = child!.getBoundingClientRect().top
      for (let index = from; index < to; index++) {
        child = child!.nextElementSibling
        const bottom = child!.getBoundingClientRect().top
        const { key } = rows[index]!
        const changedPx = Math.abs(layout.height(index) - (bottom - top))
        if (changedPx > 0.01) {
          firstChanged = Math.min(firstChanged, index)
          if (isKnown[index - edge]) edgePx += changedPx
        }
        layout.setHeight(index, bottom - top)
        heights.rows.set(key, bottom - top)
        top = bottom
      }
    }
    layout.computeTops(firstChanged)
    // The styles show a list that is shorter than the viewport at its end. A longer list has the usual layout, which is faster.
    content!.toggleAttribute('data-short', layout.total() < height)
    return firstChanged < Infinity
  }

  /**
   * Detects a scroll of the person, whose event the browser sends only in the next frame. Without it, the list would scroll back in the
   * meantime. Call `measure` first when rows may have been resized: the browser scrolls too when a row grows, and that is not a scroll of
   * the person.
   */
  function detectScroll() {
    const element = scroller()
    if (!element || element.clientHeight === 0 || Number.isNaN(lastTop)) return
    const top = element.scrollTop
    const px = top - anchoredTop()
    // The person has not scrolled when the anchor is still at its position, or when the browser has anchored the row at the upper edge.
    if (top !== lastTop && Math.abs(px) > 1 + edgePx) {
      anchorAt(top)
      speed.record(px, height)
    }
    lastTop = top
  }

  /** Moves the anchor back to its position, and renders the visible rows. */
  function restorePosition(isForced = anchor === 'end' || 'align' in anchor) {
    const element = scroller()
    if (!element || element.clientHeight === 0) return
    const now = element.scrollTop
    const top = anchoredTop()
    // The browser does not keep the position at the very top, nor where no row is rendered. Otherwise it keeps the position of the row at
    // the upper edge. When that row itself was resized, the browser's position is wrong for the rows below it.
    const isKeptByBrowser = browserAnchors && now > 0 && !isScrollingFast.value && edgePx === 0 && !hasScrolled
    edgePx = 0
    isLeftToBrowser = !isForced && isKeptByBrowser && Math.abs(now - top) > 1
    if ((isForced || !isKeptByBrowser) && Math.abs(now - top) > 0.5) {
      element.scrollTop = top
      hasScrolled = true
      requestAnimationFrame(() => (hasScrolled = false))
    }
    lastTop = element.scrollTop
    renderIfNeeded(top)
  }

  return {
    /** Sets the current rows. Call it before they are rendered. */
    update(newest: readonly Row[], buffer: number) {
      if (newest === rows && buffer === bufferPx) return
      bufferPx = buffer
      const { from, to } = near
      const first = rows[from]
      if (newest !== rows) {
        measure()
        detectScroll()
        replaceAnchor(newest)
        rows = newest
        layout.setRows(rows)
      }
      const stays = isScrollingFast.value && first ? indexOf(first.key) : -1
      near = stays < 0 ? rowsAround(anchoredTop()) : { from: stays, to: Math.min(stays + to - from, rows.length) }
    },

    /** The runs of rows to render, in order, and the heights of the gaps before, between and after them. */
    plan(keptIndex: number): { runs: readonly Run[]; gaps: number[] } {
      const { from, to } = near
      const kept = { from: keptIndex, to: keptIndex + 1 }
      const isApart = keptIndex >= 0 && keptIndex < rows.length && (keptIndex < from || keptIndex >= to)
      rendered = !isApart ? [near] : keptIndex < from ? [kept, near] : [near, kept]
      const ends = [0, ...rendered.map((run) => layout.top(run.to))]
      const begins = [...rendered.map((run) => layout.top(run.from)), layout.total()]
      return { runs: rendered, gaps: begins.map((begin, index) => begin - ends[index]!) }
    },

    /** Call it after each render, before the browser paints. */
    afterRender(element: HTMLElement) {
      content = element
      measure()
      detectScroll()
      restorePosition()
    },

    onScroll() {
      const hasChanged =
        content !== null && Math.abs(content.getBoundingClientRect().height - layout.total()) > 0.5 && measure()
      detectScroll()
      if (hasChanged) restorePosition()
      if (!isScrollingFast.value) renderIfNeeded(currentTop())
      options.onMoved()
    },

    /** Call it when the viewport or a row was resized. */
    onResize() {
      const before = height
      const wasHidden = isHidden
      isHidden = scroller()?.clientHeight === 0
      const hasChanged = measure()
      // The browser does not keep the anchor when its row was moved in the document, as the row of the first day is when older messages come.
      const isLost = isLeftToBrowser && scroller()?.scrollTop === lastTop
      isLeftToBrowser = false
      if (!hasChanged && height === before && !wasHidden && !isLost) return
      // The browser keeps no position in a hidden list.
      if (wasHidden || isLost) restorePosition(true)
      else restorePosition()
      options.onMoved()
    },

    /**
     * In pixels: the height of the viewport, the heights of the list above and below it, and the distance that was scrolled in the last
     * moment.
     */
    position() {
      const top = currentTop()
      const firstIndex = layout.indexAt(top)
      return {
        height: content ? height : 0,
        above: top,
        below: endTop() - top,
        scrolledPx: speed.scrolledPx(),
        firstIndex,
      }
    },

    scrollTo(key: string, align: Align) {
      anchor = { key, align }
      const index = indexOf(key)
      if (align === 'nearest' && index >= 0) anchor = { key, offset: layout.top(index) - alignedTop(index, align) }
      restorePosition(true)
    },

    scrollToEnd() {
      anchor = 'end'
      restorePosition()
    },

    /** Keeps the position of a row while it grows, also at the end of the list. Call it before the row grows. */
    hold(key: string) {
      const index = indexOf(key)
      if (index >= 0) anchor = { key, offset: layout.top(index) - currentTop() }
    },

    close: speed.close,
  }
}
