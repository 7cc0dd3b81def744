import type { Signal } from '@preact/signals'
import { type Align, createListAnchor, type ListAnchorOptions } from './list-anchor.ts'
import { createRenderedRows, type Run } from './rendered-rows.ts'
import { createRowLayout } from './row-layout.ts'
import { createScrollSpeed } from './scroll-speed.ts'

/** Measured heights in pixels. They outlive a list, so that the next list renders the right rows in its first frame. */
export interface KnownHeights {
  /** The heights of rows that were rendered, by key. */
  rows: Map<string, number>
  /** The height of the viewport. */
  viewport: number
}

interface ListWindowOptions<Row> extends ListAnchorOptions<Row> {
  heights: KnownHeights
  /** The estimated height of a row that was not rendered yet, in pixels. */
  estimate: (row: Row) => number
  /** Set while the person scrolls so fast that no further rows are rendered. */
  isScrollingFast: Signal<boolean>
  /** Called when other rows must be rendered. */
  onRender: () => void
  /** Called when a scroll of the person is detected, with the height below the viewport in pixels. It can come before the event. */
  onScrolled: (belowPx: number) => void
  /** Called after scrolling, and after the rows or the viewport were resized. */
  onMoved: () => void
}

/** Smaller differences of a row's height come from rounding. */
const minChangePx = 0.01
/** Smaller distances are not scrolled, because nobody sees them. */
const minScrollPx = 0.5
/** The position at which a browser keeps a row differs by up to this from the position of the anchor. */
const browserErrorPx = 1

/**
 * The logic of a windowed list. It keeps the visible rows at their position, and lets `rendered-rows.ts` choose other rows to render when
 * the position changes. In Chromium and Firefox the browser itself keeps the position (scroll anchoring), which does not interrupt a scroll.
 * Safari before 27 has no scroll anchoring, so this function does it there.
 */
export function createListWindow<Row extends { key: string }>(options: ListWindowOptions<Row>) {
  const { heights, isScrollingFast } = options
  const browserAnchors = CSS.supports('overflow-anchor', 'auto')
  let rows: readonly Row[] = []
  let height = heights.viewport
  let width = 0
  let bufferPx = 0
  let content: HTMLElement | null = null
  /** The last known scroll position. */
  let lastTop = Number.NaN
  /** By how many pixels rows between the upper edge of the viewport and the anchor have grown or shrunk. */
  let resizedAboveAnchorPx = 0
  /** Whether the list itself has scrolled for this frame. The browser anchors nothing before the next one. */
  let hasScrolled = false
  let isHidden = false
  /** Whether the browser is about to scroll to keep the anchor at its position. */
  let isLeftToBrowser = false

  const scroller = () => content?.parentElement ?? null
  /** Null also while the list is hidden. */
  const visibleScroller = () => (scroller()?.clientHeight ? scroller() : null)
  const currentTop = (): number => scroller()?.scrollTop ?? anchor.endTop()
  const viewport = { height: () => height, bufferPx: () => bufferPx, scrollTop: currentTop }
  const layout = createRowLayout(heights.rows, options.estimate)
  const rendered = createRenderedRows(layout, viewport)
  const anchor = createListAnchor(layout, viewport, options)

  /** While the person scrolls fast, no further rows are rendered. */
  const speed = createScrollSpeed(isScrollingFast, () => {
    renderIfNeeded(currentTop())
    options.onMoved()
  })

  function renderIfNeeded(top: number) {
    if (rendered.isEnough(top)) return
    rendered.moveTo(top)
    options.onRender()
  }

  /**
   * Whether the list is at its newest end. Then it stays there when the viewport becomes smaller, as it does above chosen files. The anchor may
   * be a row even there, after the person has moved to it by keyboard or has edited it.
   */
  const isAtEnd = () => lastTop >= anchor.endTop() - browserErrorPx && options.followsEnd()

  /** Measures the viewport and the rendered rows. Returns whether the height of a row has changed. */
  function measure(): boolean {
    const element = visibleScroller()
    if (!element) return false
    if (element.clientHeight < height && isAtEnd() && !isTypedInto(content!)) anchor.setEnd()
    height = element.clientHeight
    heights.viewport = height
    const measuredAboveAnchor = keysMeasuredAboveAnchor()
    if (width !== element.clientWidth) {
      // With another width, all rows have other heights. The gaps keep theirs until the next render, and the layout must agree with them.
      if (width > 0) heights.rows.clear()
      width = element.clientWidth
    }
    let firstChanged = Infinity
    measureRows(content!, rendered.runs(), (index, rowHeight) => {
      const { key } = rows[index]!
      const changedPx = Math.abs(layout.height(index) - rowHeight)
      if (changedPx > minChangePx) {
        firstChanged = Math.min(firstChanged, index)
        if (measuredAboveAnchor.has(key)) resizedAboveAnchorPx += changedPx
      }
      layout.setHeight(index, rowHeight)
      heights.rows.set(key, rowHeight)
    })
    layout.computeTops(firstChanged)
    // The styles show a list that is shorter than the viewport at its end. A longer list has the usual layout, which is faster.
    content!.toggleAttribute('data-short', layout.total() < height)
    return firstChanged < Infinity
  }

  /** The keys of the rows between the upper edge of the viewport and the anchor, without rows that have only an estimated height. */
  function keysMeasuredAboveAnchor(): ReadonlySet<string> {
    const anchorIndex = anchor.rowIndex()
    if (anchorIndex <= 0 || Number.isNaN(lastTop)) return new Set()
    const first = Math.min(layout.indexAt(lastTop), anchorIndex - 1)
    const keys = rows.slice(first, anchorIndex).map(({ key }) => key)
    return new Set(keys.filter((key) => heights.rows.has(key)))
  }

  /**
   * Makes the first visible row the anchor when the person has scrolled. The browser sends the event of a scroll only in the next frame, and
   * without this call the list would scroll back in the meantime. Call `measure` first when rows may have been resized: the browser scrolls
   * too when a row grows, and that is not a scroll of the person.
   */
  function updateAnchorAfterScroll() {
    const element = visibleScroller()
    if (!element || Number.isNaN(lastTop)) return
    const top = element.scrollTop
    const px = top - anchor.top()
    // The person has not scrolled when the anchor is still at its position, or when the browser has anchored the row at the upper edge.
    if (top !== lastTop && Math.abs(px) > browserErrorPx + resizedAboveAnchorPx) {
      anchor.setAt(top)
      speed.record(px, height)
      options.onScrolled(anchor.endTop() - top)
    }
    lastTop = top
  }

  /** Moves the anchor back to its position, unless the browser does it, and renders the visible rows. */
  function restorePosition({ isForced = anchor.isForced() } = {}) {
    const element = visibleScroller()
    if (!element) return
    const now = element.scrollTop
    const top = anchor.top()
    // The browser does not keep the position at the very top, nor where no row is rendered. Otherwise it keeps the position of the row at
    // the upper edge. When that row itself was resized, the browser's position is wrong for the rows below it.
    const isKeptByBrowser =
      browserAnchors && now > 0 && !isScrollingFast.value && resizedAboveAnchorPx === 0 && !hasScrolled
    resizedAboveAnchorPx = 0
    isLeftToBrowser = !isForced && isKeptByBrowser && Math.abs(now - top) > browserErrorPx
    if ((isForced || !isKeptByBrowser) && Math.abs(now - top) > minScrollPx) {
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
      // A scroll of the person from the end is detected before the render, because the browser itself may scroll while rows are rendered.
      if (newest !== rows || currentTop() !== lastTop) {
        measure()
        updateAnchorAfterScroll()
      }
      if (newest === rows && buffer === bufferPx) return
      bufferPx = buffer
      if (newest !== rows) {
        anchor.replace(newest)
        rows = newest
        layout.setRows(rows)
      }
      const stays = isScrollingFast.value && rendered.stay()
      if (!stays) rendered.moveTo(anchor.top())
    },

    /** The rows to render. */
    plan: rendered.plan,

    /** Call it after each render, before the browser paints. */
    afterRender(element: HTMLElement) {
      content = element
      measure()
      // The anchor may be a row that had only an estimated height. The browser has kept a rendered row at its position, which is better. But
      // it must not take the list away from its end.
      if (!anchor.isForced()) updateAnchorAfterScroll()
      restorePosition()
    },

    onScroll() {
      const hasChanged =
        content !== null && Math.abs(content.getBoundingClientRect().height - layout.total()) > minScrollPx && measure()
      updateAnchorAfterScroll()
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
      // A script may have scrolled in this frame. The event of its scroll comes in the next one.
      if (!wasHidden) updateAnchorAfterScroll()
      // The browser keeps no position in a hidden list.
      if (wasHidden || isLost) restorePosition({ isForced: true })
      else restorePosition()
      options.onMoved()
    },

    /**
     * In pixels: the height of the viewport, the heights of the list above and below it, and the distance that was scrolled in the last
     * moment. `firstIndex` and `lastIndex` are the indexes of the first and the last visible row.
     */
    position() {
      const top = currentTop()
      return {
        height: content ? height : 0,
        above: top,
        below: anchor.endTop() - top,
        scrolledPx: speed.scrolledPx(),
        firstIndex: layout.indexAt(top),
        lastIndex: layout.indexAt(top + height),
      }
    },

    scrollTo(key: string, align: Align) {
      anchor.setRow(key, align)
      restorePosition({ isForced: true })
    },

    scrollToEnd() {
      anchor.setEnd()
      restorePosition()
    },

    /** Keeps the position of a row while it grows, also at the end of the list. Call it before the row grows. */
    hold: anchor.hold,

    close: speed.close,
  }
}

/** Whether the person types in a row. It must stay in sight when the keyboard of a phone opens. */
const isTypedInto = (content: HTMLElement) => content.querySelector(':focus:read-write') !== null

/** Measures the rows that are in the document. There is a gap element before each run of rows, and one after the last run. */
function measureRows(content: HTMLElement, runs: readonly Run[], onHeight: (index: number, height: number) => void) {
  let child = content.firstElementChild
  for (const { from, to } of runs) {
    child = child!.nextElementSibling
    let top = child!.getBoundingClientRect().top
    for (let index = from; index < to; index++) {
      child = child!.nextElementSibling
      const bottom = child!.getBoundingClientRect().top
      onHeight(index, bottom - top)
      top = bottom
    }
  }
}
