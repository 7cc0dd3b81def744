import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { Workspace } from '../app/workspace.ts'

interface UnreadLineOptions {
  /** The read state of the server, which is up to half a second behind. */
  readSeq: number
  /** The `seq` of the newest message that the person has seen since they opened the channel, or 0. */
  seenSeq: number
  unreadCount: number
  /** Whether the person has marked a message as unread. */
  isMarked: boolean
  isAtEnd: boolean
  /** Whether the person does not look at the channel. */
  isAway: boolean
}

/**
 * The position of the unread line. It is before the messages that were unread when the channel was opened, or before those that came while
 * the person did not look at the newest message. It stays until the person leaves the page at the newest message.
 */
export function useUnreadLine(
  workspace: Workspace,
  id: string,
  { readSeq, seenSeq, unreadCount, isMarked, isAtEnd, isAway }: UnreadLineOptions,
) {
  /** The line is after the message with this `seq`. Undefined without a line. */
  const lineSeq = useSignal<number | undefined>(undefined)
  /** The `lineSeq` at which the person has seen the line. */
  const seenLineSeq = useSignal<number | undefined>(undefined)
  const isFirstRender = useRef(true)
  if (isFirstRender.current) {
    const marked = workspace.marks.take(id, { readSeq })
    lineSeq.value = marked === undefined ? (unreadCount > 0 ? readSeq : undefined) : marked - 1
    isFirstRender.current = false
  }
  useEffect(() => {
    if (unreadCount > 0) {
      if (isAway || !isAtEnd) lineSeq.value ??= Math.max(readSeq, seenSeq)
    } else if (isAway && isAtEnd && !isMarked) lineSeq.value = undefined
    // The numbers are no dependencies, because the line stays where it is while further messages come.
  }, [isAway, isAtEnd, unreadCount === 0])
  return {
    lineSeq: lineSeq.value,
    /** Whether the person has seen the line. A line that they have set counts as unseen, because they want to come back to it. */
    isLineSeen: !isMarked && seenLineSeq.value === lineSeq.value,
    onLineSeen() {
      if (!isAway) seenLineSeq.value = lineSeq.value
    },
    mark: (next: number) => (lineSeq.value = next),
  }
}
