import { useLayoutEffect, useRef } from 'preact/hooks'
import type { Align } from './list-anchor.ts'
import type { MessageFocus } from './message-focus.ts'
import type { Row } from './rows.ts'
import type { ListHandle } from './windowed-list.tsx'

/** A smaller distance from the end counts as being at the end. */
export const nearEndPx = 80

export type ListScroll = ReturnType<typeof useListScroll>

/** Where a list begins: at a message or at the unread line. Undefined: at its end. */
export type ListTarget = { messageId: string } | 'unread' | undefined

/** Scrolls a list of messages to its rows and to its end. */
export function useListScroll(target: ListTarget) {
  const handle = useRef<ListHandle | null>(null)
  /** Whether the list stays at its end when messages are added there. */
  const staysAtEnd = useRef(target === undefined)
  return {
    handle,
    staysAtEnd,
    scrollTo(key: string, align: Align, isThenAtEnd = false) {
      staysAtEnd.current = isThenAtEnd
      handle.current?.scrollTo(key, align)
    },
    scrollToEnd() {
      staysAtEnd.current = true
      handle.current?.scrollToEnd()
    },
    /** Keeps the position of a row that is about to grow, also at the end of the list. */
    hold(key: string) {
      staysAtEnd.current = false
      handle.current?.hold(key)
    },
  }
}

interface EndOptions {
  newestKey: string | undefined
  /** The number of messages that are not sent yet. */
  sending: number
  hasNewer: boolean
  /** Called when a message was sent, before it is painted. */
  onSent: () => void
}

/** Keeps a list at its end when messages are added there, and shows a message that the person sends. */
export function useStayAtEnd(scroll: ListScroll, { newestKey, sending, hasNewer, onSent }: EndOptions) {
  const previous = useRef({ sending, hasNewer })
  useLayoutEffect(() => {
    const { sending: sendingBefore, hasNewer: hadNewer } = previous.current
    previous.current = { sending, hasNewer }
    if (sending > sendingBefore) scroll.staysAtEnd.current = true
    else if (sending < sendingBefore) onSent()
    // A person at the end of an older part stays there when newer messages are loaded.
    if (scroll.staysAtEnd.current && !hasNewer && !hadNewer) scroll.scrollToEnd()
  }, [newestKey, sending, hasNewer])
}

/** Scrolls to a message or to the unread line as soon as it is loaded. A message gets the focus. */
export function useScrollToTarget(
  { scrollTo }: ListScroll,
  focus: MessageFocus,
  rows: readonly Row[],
  target: ListTarget,
) {
  const targetKey = typeof target === 'object' ? target.messageId : target
  const targetIndex = targetKey === undefined ? -1 : rows.findIndex(({ key }) => key === targetKey)
  useLayoutEffect(() => {
    if (targetIndex < 0) return
    scrollTo(targetKey!, 'center')
    if (target !== 'unread') focus.moveTo(targetKey!)
    // The button that the person pressed was removed with the list before this one.
    else if (document.activeElement === document.body) focus.moveTo(rows[targetIndex + 1]!.key)
    // This happens once, when the target is loaded. Later the person may have scrolled.
  }, [targetKey, targetIndex >= 0])
}
