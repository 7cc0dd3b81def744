import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Workspace } from '../app/workspace.ts'
import { useStable } from '../ui/stable.ts'
import { type ListScroll, nearEndPx } from './list-scroll.ts'
import { usePageLoader } from './page-loader.ts'
import type { ShownRows } from './shown-rows.ts'

export interface ListPositionProps {
  workspace: Workspace
  hasOlder: boolean
  loadOlder: () => Promise<unknown>
  /** Whether the list ends before the newest message, because it shows the messages around an older one. */
  hasNewer?: boolean
  loadNewer?: () => Promise<unknown>
  /** Whether the person has seen the unread line, so that no button leads there. */
  isLineSeen?: boolean
  /** Called when the unread line is in the viewport. */
  onLineSeen?: () => void
  /** Called when the newest message becomes visible or hidden. */
  onAtEnd?: (isAtEnd: boolean) => void
  /** Forgets the oldest messages. Called when the list has more messages than `most` and the person is at its end. */
  trim?: (most: number) => void
}

/** Older messages are fetched when fewer pixels than this are above the viewport, and earlier during fast scrolling. */
const nearTopPx = 600
/** While a page is being fetched, the person scrolls this many times as far as in the last moment. */
const fetchScrollFactor = 1.5
/** The number of messages to keep at the end of the list. A page that is open for weeks would otherwise have very many. */
const maxAtEnd = 300

export type ListPosition = ReturnType<typeof useListPosition>

/**
 * What follows from the scroll position of a list of messages: which pages are fetched, which buttons are shown, and whether old messages
 * are forgotten. `indexesInUse` returns the indexes of the rows that must stay. -1: none.
 */
export function useListPosition(
  props: ListPositionProps,
  { rows, lineIndex, isLineOutside }: ShownRows,
  scroll: ListScroll,
  indexesInUse: () => number[],
) {
  const { hasOlder, loadOlder, hasNewer = false, loadNewer } = props
  const onRetry = useStable(() => onMoved({ isRetry: true }))
  const pages = usePageLoader(props.workspace, onRetry)
  const isNewestHidden = useSignal(false)
  const isLineAbove = useSignal(false)
  useEffect(onMoved, [rows, hasNewer])

  function onMoved({ isRetry = false } = {}) {
    const { current: list } = scroll.handle
    if (!list || rows.length === 0) return
    const { height, above, below, scrolledPx, firstIndex, lastIndex } = list.position()
    if (height === 0) return
    const isAtEnd = below < nearEndPx
    scroll.staysAtEnd.current = isAtEnd
    isNewestHidden.value = !isAtEnd
    isLineAbove.value = !props.isLineSeen && (isLineOutside || (lineIndex >= 0 && lineIndex < firstIndex))
    if (lineIndex >= firstIndex && lineIndex <= lastIndex) props.onLineSeen?.()
    props.onAtEnd?.(isAtEnd && !hasNewer)
    const isInUse = indexesInUse().some((index) => index >= 0 && index < rows.length - maxAtEnd / 2)
    if (isAtEnd && !hasNewer && rows.length > maxAtEnd && !isInUse) props.trim?.(maxAtEnd)
    const near = nearTopPx + scrolledPx * fetchScrollFactor
    const load = hasOlder && above < near ? loadOlder : hasNewer && below < near ? loadNewer : undefined
    void pages.load(load, isRetry)
  }

  return {
    pages,
    isNewestHidden,
    /** Whether the unread line is above the viewport, and the person has not seen it. */
    isLineAbove,
    /** Call it after scrolling, and after the rows or the viewport were resized. */
    onMoved: () => onMoved(),
  }
}
