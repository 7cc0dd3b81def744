import { useSignal, useSignalEffect } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import { useStable } from '../ui/stable.ts'
import { createListWindow, type KnownHeights } from './list-window.ts'

export type ListHandle = Pick<ReturnType<typeof createListWindow>, 'position' | 'scrollTo' | 'scrollToEnd'>

interface WindowedListProps<Row> {
  rows: readonly Row[]
  heights: KnownHeights
  estimate: (row: Row) => number
  handle: { current: ListHandle | null }
  /** So much above and below the window is drawn too. */
  bufferPx: number
  /** A row that is drawn wherever it is, because it has the focus. -1: none. */
  keptIndex: number
  isSteady: (row: Row) => boolean
  followsEnd: () => boolean
  /** Told when the list was scrolled, or its rows or its window have another height. */
  onMoved: () => void
  /** Told whether somebody scrolls so fast that no rows are drawn. */
  onFlight: (isFlying: boolean) => void
  /** Draws one row: one element. */
  children: (row: Row) => ComponentChildren
}

/** A list of very many rows, of which only those near the window are in the document. */
export function WindowedList<Row extends { key: string }>(props: WindowedListProps<Row>) {
  const { rows, heights, estimate, isSteady, handle, bufferPx, keptIndex, children: drawRow } = props
  const content = useRef<HTMLDivElement>(null)
  const redraws = useSignal(0)
  const followsEnd = useStable(props.followsEnd)
  const onMoved = useStable(props.onMoved)
  const list = useMemo(
    () =>
      createListWindow<Row>({ heights, estimate, isSteady, followsEnd, onMoved, onDraw: () => void redraws.value++ }),
    [],
  )
  handle.current = list
  useSignalEffect(() => props.onFlight(list.isFlying.value))

  // Read, so that the list is drawn again when it wants to be.
  void redraws.value
  list.update(rows, bufferPx)
  const { runs, gaps } = list.plan(keptIndex)
  useLayoutEffect(() => list.afterDraw(content.current!))
  useEffect(() => {
    const { current } = content
    const observer = new ResizeObserver(list.onResize)
    observer.observe(current!)
    observer.observe(current!.parentElement!)
    return () => {
      observer.disconnect()
      list.close()
      handle.current = null
    }
  }, [])

  return (
    <div class="feed-scroller" onScroll={list.onScroll}>
      <div class="feed-rows" ref={content}>
        {runs.flatMap(({ from, to }, run) => [
          <Gap key={`gap ${run}`} px={gaps[run]!} />,
          ...rows.slice(from, to).map(drawRow),
        ])}
        <Gap key="gap" px={gaps.at(-1)!} />
      </div>
    </div>
  )
}

/** Stands for rows that are not drawn. */
const Gap = ({ px }: { px: number }) => <div class="gap" style={{ blockSize: `${px}px` }} />
