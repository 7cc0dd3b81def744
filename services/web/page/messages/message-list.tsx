import type { OutboxEntry } from '@parley/client'
import type { Message } from '@parley/contract'
import { useComputed, useSignal } from '@preact/signals'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { NotLoaded } from '../app/page.tsx'
import { createPart } from '../app/part.ts'
import type { Place } from '../app/places.ts'
import { whenIdle } from '../ui/idle.ts'
import { useStable } from '../ui/stable.ts'
import { JumpButtons } from './jump-buttons.tsx'
import { type ListPositionProps, useListPosition } from './list-position.ts'
import {
  type ListScroll,
  type ListTarget,
  nearEndPx,
  useListScroll,
  useScrollToTarget,
  useStayAtEnd,
} from './list-scroll.ts'
import { useMessageFocus } from './message-focus.ts'
import { MessageRow } from './message-row.tsx'
import { usePendingPointer } from './pending-pointer.ts'
import { estimateHeight, knownHeights, trimHeights } from './row-heights.ts'
import { isArticle, type Row } from './rows.ts'
import { useShownRows } from './shown-rows.ts'
import { WindowedList } from './windowed-list.tsx'

const emptyPart = createPart(() => import('./empty-feed.tsx').then(({ EmptyFeed }) => EmptyFeed))

interface MessageListProps extends ListPositionProps {
  /** The accessible name of the feed. */
  name: string
  /** Undefined while they are fetched, for the first time or again. */
  messages: readonly Message[] | undefined
  /** The messages that are not sent yet. */
  outbox: readonly OutboxEntry[]
  view: 'channel' | 'thread'
  /** The channel or conversation. Undefined if the person may not read it any more. */
  place: Place | undefined
  /** The number of unread messages, which the button to the newest message shows. */
  unreadCount?: number
  /** Opens the newest messages, if the list does not contain them. The whole list is replaced then. */
  openNewest?: (isByKey: boolean) => void
  /** The unread line is after the message with this `seq`. Undefined: there is no line. */
  lineSeq?: number | undefined
  /** Opens the first unread message, if the list does not contain it. */
  openFirstUnread?: () => void
  /** The initial scroll position: a message, which gets the focus, or the unread line. By default it is the end. */
  target?: ListTarget
  /** The id of the message that is being edited. */
  editingId: string | undefined
  /** Whether the editor has opened by itself. */
  isResumed: boolean | undefined
  /** Called with the message that is to be edited, and with undefined when the editing has ended. */
  onEdit: (id: string | undefined) => void
  onQuote?: (message: Message) => void
  /** Called with the first message that the person marks as unread. */
  onMarkUnread?: (message: Message) => void
}

/** The rendered height above and below the viewport. It is 0 for the first render, so that the first paint is fast. */
const bufferPx = 200

/** The messages of a channel, conversation or thread, as a windowed list. */
export function MessageList(props: MessageListProps) {
  const { workspace, name, view, hasNewer = false, target, editingId } = props
  const shown = useShownRows(workspace, props)
  const { rows, newestKey } = shown
  const root = useRef<HTMLDivElement>(null)
  const scroll = useListScroll(target)
  const focus = useMessageFocus({
    root,
    rows,
    newestKey,
    myId: workspace.myId,
    onMove: (key) => scroll.scrollTo(key, 'nearest', key === newestKey),
  })
  const editingIndex = rows.findIndex(({ key }) => key === editingId)
  const position = useListPosition(props, shown, scroll, () => [focus.focusedIndex(), editingIndex])
  const pendingPointer = usePendingPointer()
  const heights = knownHeights(workspace)
  useLayoutEffect(() => () => trimHeights(heights), [])
  useStayAtEnd(scroll, { newestKey, sending: shown.outbox.length, hasNewer, onSent: pendingPointer.pass })
  useScrollToTarget(scroll, focus, rows, target)
  useLayoutEffect(() => {
    if (editingIndex >= 0) scroll.scrollTo(editingId!, 'nearest', editingId === newestKey)
  }, [editingId])

  /** False until the messages are fetched for the first time. */
  const isLoaded = shown.messages !== undefined
  const isSettled = useIsSettled(isLoaded)
  const isScrollingFast = useSignal(false)
  // A signal that is bound to the attribute does not make the list render again.
  const isBusy = useComputed(() => position.pages.isFetching.value || isScrollingFast.value)
  const onEdit = useStable(props.onEdit)
  const onQuote = useStable((message: Message) => props.onQuote?.(message))
  const onMarkUnread = useStable((message: Message) => props.onMarkUnread?.(message))

  if (isLoaded && rows.length === 0) return renderEmpty(props)
  return (
    <div class="feed">
      {/* The role `feed` does not allow the buttons below. */}
      <div
        ref={root}
        class="feed-list"
        role="feed"
        aria-label={name}
        aria-busy={props.messages === undefined || isBusy}
        onClickCapture={(event) => holdExpander(event, scroll)}
        onKeyDown={focus.onKeyDown}
        onFocusIn={focus.onFocusIn}
        onPointerMove={pendingPointer.onPointerMove}
        onPointerLeave={pendingPointer.onPointerLeave}
      >
        <WindowedList
          rows={rows}
          heights={heights}
          estimate={estimateHeight}
          canBeAnchor={isArticle}
          handle={scroll.handle}
          bufferPx={isSettled ? bufferPx : 0}
          keptIndexes={[focus.index, editingIndex]}
          followsEnd={() => !hasNewer}
          onScrolled={(belowPx) => (scroll.staysAtEnd.current = belowPx < nearEndPx)}
          onMoved={position.onMoved}
          isScrollingFast={isScrollingFast}
        >
          {(row: Row) => (
            <MessageRow
              key={row.key}
              row={row}
              workspace={workspace}
              view={view}
              isReachedByTab={row.key === focus.tabKey}
              isEditing={row.key === editingId}
              isResumed={row.key === editingId && props.isResumed}
              onEdit={onEdit}
              onQuote={props.onQuote && onQuote}
              onMarkUnread={props.onMarkUnread && onMarkUnread}
            />
          )}
        </WindowedList>
      </div>
      <JumpButtons
        shown={shown}
        position={position}
        scroll={scroll}
        focus={focus}
        hasNewer={hasNewer}
        target={target}
        unreadCount={props.unreadCount}
        openFirstUnread={props.openFirstUnread}
        openNewest={props.openNewest}
      />
    </div>
  )
}

/** Whether the first rows are painted, so that the buffers can be rendered. */
function useIsSettled(isLoaded: boolean): boolean {
  const isSettled = useSignal(false)
  useEffect(() => (isLoaded ? whenIdle(() => (isSettled.value = true)) : undefined), [isLoaded])
  return isSettled.value
}

/** Before a long message is expanded or collapsed: keeps its beginning in place, or shows it. */
function holdExpander(event: MouseEvent, scroll: ListScroll) {
  const expander = (event.target as Element).closest('.expander')
  const key = expander?.closest<HTMLElement>('article')?.dataset.message
  if (key === undefined) return
  if (expander!.ariaExpanded === 'true') scroll.scrollTo(key, 'nearest')
  else scroll.hold(key)
}

/** The role `feed` requires articles, so an empty list has another role. */
function renderEmpty({ name, ...props }: MessageListProps) {
  const EmptyFeed = emptyPart()
  return (
    <div class="feed" role="log" aria-live="off" aria-label={name} aria-busy={EmptyFeed === 'loading'}>
      {EmptyFeed === 'failed' && <NotLoaded />}
      {typeof EmptyFeed === 'function' && <EmptyFeed {...props} />}
    </div>
  )
}
