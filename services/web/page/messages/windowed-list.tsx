import { type Signal, useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import { useStable } from '../ui/stable.ts'
import { createListWindow, type KnownHeights } from './list-window.ts'

export type ListHandle = Pick<ReturnType<typeof createListWindow>, 'position' | 'scrollTo' | 'scrollToEnd' | 'hold'>

interface WindowedListProps<Row> {
  rows: readonly Row[]
  heights: KnownHeights
  estimate: (row: Row) => number
  handle: { current: ListHandle | null }
  /** The height above and below the viewport that is rendered too, in pixels. */
  bufferPx: number
  /** The indexes of rows that are always rendered, because they have the focus or are being edited. -1: none. */
  keptIndexes: readonly number[]
  canBeAnchor: (row: Row) => boolean
  followsEnd: () => boolean
  /** Called when a scroll of the person is detected, with the height below the viewport in pixels. It can come before the event. */
  onScrolled: (belowPx: number) => void
  /** Called after scrolling, and after the rows or the viewport were resized. */
  onMoved: () => void
  /** The list sets it while the person scrolls so fast that no further rows are rendered. */
  isScrollingFast: Signal<boolean>
  /** Renders one row as one element. */
  children: (row: Row) => ComponentChildren
}

/** A list of very many rows. Only the rows in and near the viewport are in the document. */
export function WindowedList<Row extends { key: string }>(props: WindowedListProps<Row>) {
  const { rows, heights, estimate, canBeAnchor, handle, bufferPx, keptIndexes, children: renderRow } = props
  const content = useRef<HTMLDivElement>(null)
  const renders = useSignal(0)
  const followsEnd = useStable(props.followsEnd)
  const onScrolled = useStable(props.onScrolled)
  const onMoved = useStable(props.onMoved)
  const list = useMemo(
    () =>
      createListWindow<Row>({
        heights,
        estimate,
        canBeAnchor,
        isScrollingFast: props.isScrollingFast,
        followsEnd,
        onScrolled,
        onMoved,
        onRender: () => void renders.value++,
      }),
    [],
  )
  handle.current = list

  // Reading the signal makes the component render again when `onRender` is called.
  void renders.value
  list.update(rows, bufferPx)
  const { runs, gaps } = list.plan(keptIndexes)
  useLayoutEffect(() => list.afterRender(content.current!))
  useEffect(() => {
    const { current } = content
    const observer = new ResizeObserver(list.onResize)
    observer.observe(current!)
    observer.observe(current!.parentElement!)
    return () => observer.disconnect()
  }, [])
  // A layout effect, because a list may be removed before its first frame. The event of its scroll comes even then.
  useLayoutEffect(
    () => () => {
      list.close()
      handle.current = null
    },
    [],
  )

  return (
    <div class="feed-scroller" onScroll={list.onScroll}>
      <div class="feed-rows" ref={content}>
        {runs.flatMap(({ from, to }, run) => [
          <Gap key={`gap ${run}`} px={gaps[run]!} />,
          ...rows.slice(from, to).map(renderRow),
        ])}
        <Gap key="gap" px={gaps.at(-1)!} />
      </div>
    </div>
  )
}

/** An empty element with the height of rows that are not rendered. */
const Gap = ({ px }: { px: number }) => <div class="gap" style={{ blockSize: `${px}px` }} />
