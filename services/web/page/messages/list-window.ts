import { signal } from '@preact/signals'

/** Where a row is to stand in the window. `nearest`: where it is, if it is in sight. */
export type Align = 'start' | 'center' | 'nearest'

/** What a list leaves to the next one, so that it draws the right rows in its first frame. All in pixels. */
export interface KnownHeights {
  /** Of rows that were drawn, by their keys. */
  rows: Map<string, number>
  /** Of the window. */
  window: number
}

/** Rows from `from` up to `to`, which is not one of them. */
interface Run {
  from: number
  to: number
}

/** What keeps its place in the window while rows around it come, go and change their heights. */
type Anchor =
  | 'end'
  /** `offset` is the distance of the row's top from the top of the window, in pixels. */
  | { key: string; offset: number }
  | { key: string; align: Align }

interface ListWindowOptions<Row> {
  heights: KnownHeights
  /** The probable height of a row that was not drawn yet, in pixels. */
  estimate: (row: Row) => number
  /** Whether a row stays among the same rows. A line between two days does not: it moves when messages come before it. */
  isSteady: (row: Row) => boolean
  /** Whether somebody at the end of the list goes on seeing its end when rows are added there. */
  followsEnd: () => boolean
  /** Told when other rows have to be drawn. */
  onDraw: () => void
  /** Told when the list was scrolled, or its rows or its window have another height. */
  onMoved: () => void
}

/** So long after the last event of a flight, it is over. */
const settleMs = 100
/** Whoever passes more than a window within this time reads nothing. */
const flightMs = 150

/**
 * Decides which rows of a long list are drawn, and keeps what somebody reads where it is. Chromium and Firefox do the latter themselves
 * (scroll anchoring), without disturbing a scroll that goes on meanwhile; for Safari it is done here.
 */
export function createListWindow<Row extends { key: string }>(options: ListWindowOptions<Row>) {
  const { heights } = options
  const browserAnchors = CSS.supports('overflow-anchor', 'auto')
  const isFlying = signal(false)
  let rows: readonly Row[] = []
  /** The known or probable height of each row. */
  let rowHeights = new Float64Array(0)
  /** The distance of each row's top from the top of the list; the last entry is the height of all of them. */
  let tops = new Float64Array(1)
  /** The rows near the window. */
  let near: Run = { from: 0, to: 0 }
  /** The rows that are in the document. */
  let drawn: readonly Run[] = []
  let anchor: Anchor = 'end'
  let height = heights.window
  let width = 0
  let bufferPx = 0
  let content: HTMLElement | null = null
  /** Where the window was when this list last looked. */
  let seenTop = Number.NaN
  /** So many pixels the row at the upper edge of the window has grown or shrunk. */
  let edgePx = 0
  /** The list itself has scrolled for this frame, and the browser holds on to nothing before the next one. */
  let hasScrolled = false
  let isHidden = false
  /** The browser is about to scroll, so that the anchor keeps its place. */
  let isLeftToBrowser = false
  let moves: { at: number; px: number }[] = []
  let settling: ReturnType<typeof setTimeout> | undefined

  const scroller = () => content?.parentElement ?? null
  const total = () => tops[rows.length]!
  /** The distance of the window from the top of the list when it is at the end. */
  const lowest = () => Math.max(0, total() - height)
  const currentTop = () => scroller()?.scrollTop ?? lowest()
  const indexOf = (key: string) => rows.findIndex((row) => row.key === key)

  function computeHeights() {
    rowHeights = Float64Array.from(rows, (row) => heights.rows.get(row.key) ?? options.estimate(row))
    tops = new Float64Array(rows.length + 1)
    computeTops(0)
  }

  /** After the heights of this row and of rows behind it have changed. */
  function computeTops(from: number) {
    for (let index = from; index < rowHeights.length; index++) tops[index + 1] = tops[index]! + rowHeights[index]!
  }

  /** The row at this distance from the top of the list; the last one for everything behind it. */
  function indexAt(top: number): number {
    let [low, high] = [0, Math.max(0, rows.length - 1)]
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if (tops[middle]! <= top) low = middle
      else high = middle - 1
    }
    return low
  }

  /** Where the window has to be for the anchor to keep its place. */
  function anchoredTop(): number {
    if (anchor === 'end') return lowest()
    const index = indexOf(anchor.key)
    if (index < 0) return Math.min(currentTop(), lowest())
    const top = 'offset' in anchor ? tops[index]! - anchor.offset : alignedTop(index, anchor.align)
    return Math.min(Math.max(0, top), lowest())
  }

  function alignedTop(index: number, align: Align): number {
    const [top, bottom] = [tops[index]!, tops[index + 1]!]
    if (align === 'start') return top
    if (align === 'center') return (top + bottom - height) / 2
    const now = currentTop()
    // The beginning of a row that is higher than the window.
    if (top < now || bottom - top > height) return top
    return bottom > now + height ? bottom - height : now
  }

  /** Holds on to the first steady row whose top is in sight. */
  function anchorAt(top: number) {
    if (top >= lowest() - 1 && options.followsEnd()) {
      anchor = 'end'
      return
    }
    const atEdge = indexAt(top)
    let index = tops[atEdge]! < top ? atEdge + 1 : atEdge
    while (index < rows.length && !options.isSteady(rows[index]!)) index++
    if (index >= rows.length || tops[index]! > top + height) index = atEdge
    const row = rows[index]
    anchor = row ? { key: row.key, offset: tops[index]! - top } : 'end'
  }

  /** When the row of the anchor is about to go, the next one that stays takes its place. */
  function passAnchorOn(newest: readonly Row[]) {
    const index = anchor === 'end' ? -1 : indexOf(anchor.key)
    if (index < 0) return
    const staying = new Set(newest.map(({ key }) => key))
    if (staying.has(rows[index]!.key)) return
    const stays = (row: Row) => options.isSteady(row) && staying.has(row.key)
    let heir = rows.findIndex((row, at) => at > index && stays(row))
    if (heir < 0) heir = rows.findLastIndex((row, at) => at < index && stays(row))
    if (heir < 0) return
    const going = rowHeights.slice(index, Math.max(index, heir)).filter((_, at) => !staying.has(rows[index + at]!.key))
    const offset = tops[heir]! - going.reduce((sum, px) => sum + px, 0) - anchoredTop()
    anchor = { key: rows[heir]!.key, offset }
  }

  const rowsAround = (top: number): Run => ({
    from: indexAt(top - bufferPx),
    to: rows.length === 0 ? 0 : indexAt(top + height + bufferPx) + 1,
  })

  /** Draws other rows when fewer than half a buffer is drawn beyond the window. */
  function drawIfNeeded(top: number) {
    const isDrawn =
      tops[near.from]! <= Math.max(0, top - bufferPx / 2) &&
      tops[near.to]! >= Math.min(total(), top + height + bufferPx / 2)
    if (isDrawn) return
    near = rowsAround(top)
    options.onDraw()
  }

  /** Reads the heights of the window and of the drawn rows. Returns whether one of the rows has changed. */
  function measure(): boolean {
    const element = scroller()
    if (!element || element.clientHeight === 0) return false
    height = element.clientHeight
    heights.window = height
    const edge = anchor !== 'end' && 'offset' in anchor ? indexOf(anchor.key) - 1 : -1
    const isEdgeKnown = edge >= 0 && heights.rows.has(rows[edge]!.key)
    if (width !== element.clientWidth) {
      // All rows have other heights now. The gaps keep theirs until other rows are drawn, and `tops` must agree with them.
      if (width > 0) heights.rows.clear()
      width = element.clientWidth
    }
    let firstChanged = Infinity
    let child = content!.firstElementChild
    for (const { from, to } of drawn) {
      // A gap stands before each run of rows, and one behind the last.
      child = child!.nextElementSibling
      let top = child!.getBoundingClientRect().top
      for (let index = from; index < to; index++) {
        child = child!.nextElementSibling
        const bottom = child!.getBoundingClientRect().top
        const { key } = rows[index]!
        if (Math.abs(rowHeights[index]! - (bottom - top)) > 0.01) {
          firstChanged = Math.min(firstChanged, index)
          if (index === edge && isEdgeKnown) edgePx += Math.abs(rowHeights[index]! - (bottom - top))
        }
        rowHeights[index] = bottom - top
        heights.rows.set(key, bottom - top)
        top = bottom
      }
    }
    computeTops(firstChanged)
    return firstChanged < Infinity
  }

  /**
   * The browser tells of a scroll in its next frame. Until then nobody must be taken back to where they were. Where rows may have changed,
   * they are measured first: the browser has scrolled for a row that has grown, and that is no scroll of a person.
   */
  function noticeScroll() {
    const element = scroller()
    if (!element || element.clientHeight === 0 || Number.isNaN(seenTop)) return
    const top = element.scrollTop
    const px = top - anchoredTop()
    // When the anchor has kept its place, nobody has scrolled, nor when the browser has held on to the row at the edge.
    if (top !== seenTop && Math.abs(px) > 1 + edgePx) {
      anchorAt(top)
      noteMove(px)
    }
    seenTop = top
  }

  /** Lets the anchor keep its place, and draws what is in sight there. */
  function settle(isAimed = anchor === 'end' || 'align' in anchor) {
    const element = scroller()
    if (!element || element.clientHeight === 0) return
    const now = element.scrollTop
    const top = anchoredTop()
    // The browser holds on to nothing at the very top and where no row is drawn, and otherwise to the row at the upper edge, which
    // somebody no longer reads.
    const isHeldByBrowser = browserAnchors && now > 0 && !isFlying.value && edgePx === 0 && !hasScrolled
    edgePx = 0
    isLeftToBrowser = !isAimed && isHeldByBrowser && Math.abs(now - top) > 1
    if ((isAimed || !isHeldByBrowser) && Math.abs(now - top) > 0.5) {
      element.scrollTop = top
      hasScrolled = true
      requestAnimationFrame(() => (hasScrolled = false))
    }
    seenTop = element.scrollTop
    drawIfNeeded(top)
  }

  function endFlight() {
    moves = []
    isFlying.value = false
    drawIfNeeded(currentTop())
    options.onMoved()
  }

  /** How far the window was moved within `flightMs`. A single leap, such as to the end, does not count. */
  function passed(): number {
    const since = performance.now() - flightMs
    const recent = moves.filter(({ at }) => at > since)
    return recent.length < 2 ? 0 : Math.abs(recent.reduce((sum, { px }) => sum + px, 0))
  }

  /** Somebody has moved the window by `px`. While they fly, no rows are drawn. */
  function noteMove(px: number) {
    const at = performance.now()
    moves = [...moves.filter((move) => move.at > at - flightMs), { at, px }]
    isFlying.value = passed() > height
    clearTimeout(settling)
    if (isFlying.value) settling = setTimeout(endFlight, settleMs)
  }

  return {
    /** Whether somebody scrolls so fast that no rows are drawn. */
    isFlying,

    /** Takes the newest rows. Called before they are drawn. */
    update(newest: readonly Row[], buffer: number) {
      if (newest === rows && buffer === bufferPx) return
      bufferPx = buffer
      const { from, to } = near
      const first = rows[from]
      if (newest !== rows) {
        measure()
        noticeScroll()
        passAnchorOn(newest)
        rows = newest
        computeHeights()
      }
      const stays = isFlying.value && first ? indexOf(first.key) : -1
      near = stays < 0 ? rowsAround(anchoredTop()) : { from: stays, to: Math.min(stays + to - from, rows.length) }
    },

    /** The runs of rows to draw, in order, and the heights of the gaps before, between and behind them. */
    plan(keptIndex: number): { runs: readonly Run[]; gaps: number[] } {
      const { from, to } = near
      const kept = { from: keptIndex, to: keptIndex + 1 }
      const isApart = keptIndex >= 0 && keptIndex < rows.length && (keptIndex < from || keptIndex >= to)
      drawn = !isApart ? [near] : keptIndex < from ? [kept, near] : [near, kept]
      const ends = [0, ...drawn.map((run) => tops[run.to]!)]
      const begins = [...drawn.map((run) => tops[run.from]!), total()]
      return { runs: drawn, gaps: begins.map((begin, index) => begin - ends[index]!) }
    },

    /** Called whenever rows were drawn, before they are painted. */
    afterDraw(element: HTMLElement) {
      content = element
      measure()
      noticeScroll()
      settle()
    },

    onScroll() {
      const hasChanged =
        content !== null && Math.abs(content.getBoundingClientRect().height - total()) > 0.5 && measure()
      noticeScroll()
      if (hasChanged) settle()
      if (!isFlying.value) drawIfNeeded(currentTop())
      options.onMoved()
    },

    /** The window, or one of the rows, has another height. */
    onResize() {
      const before = height
      const wasHidden = isHidden
      isHidden = scroller()?.clientHeight === 0
      const hasChanged = measure()
      // It has lost its hold when the row was moved in the document, as that of the first day is when older ones come.
      const isLost = isLeftToBrowser && scroller()?.scrollTop === seenTop
      isLeftToBrowser = false
      if (!hasChanged && height === before && !wasHidden && !isLost) return
      // In a list that is not shown the browser holds on to nothing.
      if (wasHidden || isLost) settle(true)
      else settle()
      options.onMoved()
    },

    /** In pixels: the height of the window, of what is above and below it, and how far it was moved in the last moment. */
    position() {
      const top = currentTop()
      const firstIndex = indexAt(top)
      return { height: content ? height : 0, above: top, below: lowest() - top, passed: passed(), firstIndex }
    },

    scrollTo(key: string, align: Align) {
      anchor = { key, align }
      const index = indexOf(key)
      if (align === 'nearest' && index >= 0) anchor = { key, offset: tops[index]! - alignedTop(index, align) }
      settle(true)
    },

    scrollToEnd() {
      anchor = 'end'
      settle()
    },

    close() {
      clearTimeout(settling)
    },
  }
}
