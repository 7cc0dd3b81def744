import type { OutboxEntry } from '@parley/client'
import type { Message } from '@parley/contract'
import { useComputed, useSignal } from '@preact/signals'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import type { Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'
import { Empty } from '../ui/empty.tsx'
import { whenIdle } from '../ui/idle.ts'
import { useStable } from '../ui/stable.ts'
import { JumpButtons } from './jump-buttons.tsx'
import type { Align } from './list-anchor.ts'
import { useMessageFocus } from './message-focus.ts'
import { MessageRow } from './message-row.tsx'
import { usePageLoader } from './page-loader.ts'
import { usePendingPointer } from './pending-pointer.ts'
import { estimateHeight, knownHeights, trimHeights } from './row-heights.ts'
import { isArticle, type Row } from './rows.ts'
import { useShownRows } from './shown-rows.ts'
import { type ListHandle, WindowedList } from './windowed-list.tsx'

interface MessageListProps {
  workspace: Workspace
  /** The accessible name of the feed. */
  name: string
  /** Undefined while they are fetched, for the first time or again. */
  messages: readonly Message[] | undefined
  /** The messages that are not sent yet. */
  outbox: readonly OutboxEntry[]
  view: 'channel' | 'thread'
  hasOlder: boolean
  loadOlder: () => Promise<unknown>
  /** The number of unread messages, which the button to the newest message shows. */
  unreadCount?: number
  /** Whether the list ends before the newest message, because it shows the messages around an older one. */
  hasNewer?: boolean
  loadNewer?: () => Promise<unknown>
  /** Opens the newest messages, if the list does not contain them. The whole list is replaced then. */
  openNewest?: (isByKey: boolean) => void
  /** The `seq` up to which the person had read when the list was opened. The unread line is after this message. */
  readSeq?: number | undefined
  /** Opens the first unread message, if the list does not contain it. */
  openFirstUnread?: () => void
  /** The initial scroll position: a message, which gets the focus, or the unread line. By default it is the end. */
  target?: { messageId: string } | 'unread' | undefined
  /** The id of the message that is being edited. */
  editingId: string | undefined
  /** Called with the message that is to be edited, and with undefined when the editing has ended. */
  onEdit: (id: string | undefined) => void
  onQuote?: (message: Message) => void
  /** Called with the first message that the person marks as unread. */
  onMarkUnread?: (message: Message) => void
  /** Called when the newest message becomes visible or hidden. */
  onAtEnd?: (isAtEnd: boolean) => void
  /** Forgets the oldest messages. Called when the list has more messages than `most` and the person is at its end. */
  trim?: (most: number) => void
}

/** Older messages are fetched when fewer pixels than this are above the viewport, and earlier during fast scrolling. */
const nearTopPx = 600
/** While a page is being fetched, the person scrolls this many times as far as in the last moment. */
const fetchScrollFactor = 1.5
/** A smaller distance from the end counts as being at the end. */
const nearEndPx = 80
/** The rendered height above and below the viewport. It is 0 for the first render, so that the first paint is fast. */
const bufferPx = 200
/** The number of messages to keep at the end of the list. A page that is open for weeks would otherwise have very many. */
const maxAtEnd = 300

/** The messages of a channel, conversation or thread, as a windowed list. */
export function MessageList(props: MessageListProps) {
  const { workspace, name, view, hasOlder, loadOlder, hasNewer = false, loadNewer, target, editingId } = props
  const { messages, outbox, rows, isLineOutside } = useShownRows(workspace, props)
  /** False until the messages are fetched for the first time. */
  const isLoaded = messages !== undefined
  const sending = outbox.length
  const newestKey = rows.findLast(isArticle)?.key
  const lineIndex = rows.findIndex(({ kind }) => kind === 'unread')
  const root = useRef<HTMLDivElement>(null)
  const onEdit = useStable(props.onEdit)
  const onQuote = useStable((message: Message) => props.onQuote?.(message))
  const onMarkUnread = useStable((message: Message) => props.onMarkUnread?.(message))
  const list = useRef<ListHandle | null>(null)
  /** Whether the list stays at its end when messages are added there. */
  const staysAtEnd = useRef(target === undefined)
  const onRetry = useStable(() => onListMoved({ isRetry: true }))
  const pages = usePageLoader(workspace, onRetry)
  const isScrollingFast = useSignal(false)
  const isSettled = useIsSettled(isLoaded)
  // A signal that is bound to the attribute does not make the list render again.
  const isBusy = useComputed(() => pages.isFetching.value || isScrollingFast.value)
  const isNewestHidden = useSignal(false)
  const isLineAbove = useSignal(false)
  const focus = useMessageFocus({
    root,
    rows,
    newestKey,
    myId: workspace.myId,
    onMove: (key) => scrollTo(key, 'nearest', key === newestKey),
  })
  const pendingPointer = usePendingPointer()
  const heights = knownHeights(workspace)
  useLayoutEffect(() => () => trimHeights(heights), [])

  const previous = useRef({ sending, hasNewer })
  useLayoutEffect(() => {
    const { sending: sendingBefore, hasNewer: hadNewer } = previous.current
    previous.current = { sending, hasNewer }
    // A person who sends a message sees it.
    if (sending > sendingBefore) staysAtEnd.current = true
    else if (sending < sendingBefore) pendingPointer.pass()
    // A person at the end of an older part stays there when newer messages are loaded.
    if (staysAtEnd.current && !hasNewer && !hadNewer) list.current?.scrollToEnd()
  }, [newestKey, sending, hasNewer])
  useEffect(onListMoved, [rows, hasNewer])

  const targetKey = typeof target === 'object' ? target.messageId : target
  const targetIndex = targetKey === undefined ? -1 : rows.findIndex(({ key }) => key === targetKey)
  useLayoutEffect(() => {
    if (targetIndex < 0) return
    scrollTo(targetKey!, 'center')
    if (target !== 'unread') focus.moveTo(targetKey!)
    // The button that the person pressed was removed with the list before this one.
    else if (document.activeElement === document.body) focus.moveTo(rows[targetIndex + 1]!.key)
    // Only when the target is loaded. Later the person may have scrolled.
  }, [targetKey, targetIndex >= 0])

  const editingIndex = rows.findIndex(({ key }) => key === editingId)
  useLayoutEffect(() => {
    if (editingIndex >= 0) scrollTo(editingId!, 'nearest', editingId === newestKey)
  }, [editingId])

  /** Reads the scroll position, and fetches messages if the person is near the beginning or the end. */
  function onListMoved({ isRetry = false } = {}) {
    const { current } = list
    if (!current || rows.length === 0) return
    const { height, above, below, scrolledPx, firstIndex } = current.position()
    if (height === 0) return
    const isAtEnd = below < nearEndPx
    staysAtEnd.current = isAtEnd
    isNewestHidden.value = !isAtEnd
    isLineAbove.value = isLineOutside || (lineIndex >= 0 && lineIndex < firstIndex)
    props.onAtEnd?.(isAtEnd && !hasNewer)
    const isInUse = [focus.focusedIndex(), editingIndex].some(
      (index) => index >= 0 && index < rows.length - maxAtEnd / 2,
    )
    if (isAtEnd && !hasNewer && rows.length > maxAtEnd && !isInUse) props.trim?.(maxAtEnd)
    const near = nearTopPx + scrolledPx * fetchScrollFactor
    const load = hasOlder && above < near ? loadOlder : hasNewer && below < near ? loadNewer : undefined
    void pages.load(load, isRetry)
  }

  function scrollTo(key: string, align: Align, isThenAtEnd = false) {
    staysAtEnd.current = isThenAtEnd
    list.current?.scrollTo(key, align)
  }

  /** Before a long message is expanded or collapsed: keeps its beginning in place, or shows it. */
  function holdExpander(event: MouseEvent) {
    const expander = (event.target as Element).closest('.expander')
    const key = expander?.closest<HTMLElement>('article')?.dataset.message
    if (key === undefined) return
    if (expander!.ariaExpanded === 'true') return scrollTo(key, 'nearest')
    staysAtEnd.current = false
    list.current?.hold(key)
  }

  /** The button is removed. A person with a keyboard gets the focus on the message. */
  function jumpToLine(isByKey: boolean) {
    if (isLineOutside) return props.openFirstUnread?.()
    scrollTo('unread', 'start')
    if (isByKey) focus.moveTo(rows[lineIndex + 1]!.key)
  }

  function jumpToNewest(isByKey: boolean) {
    staysAtEnd.current = true
    if (hasNewer || typeof target === 'object') return props.openNewest?.(isByKey)
    list.current?.scrollToEnd()
    if (isByKey && newestKey !== undefined) focus.moveTo(newestKey)
  }

  /** When the button to try again is removed, a person with a keyboard gets the focus on the first message in the viewport. */
  const retryButton = useStable((button: Element | null) => () => {
    // The messages are laid out a moment after this call.
    if (button!.matches(':focus-visible')) queueMicrotask(focusFirstInViewport)
  })
  const focusFirstInViewport = useStable(() => {
    const first = rows.slice(list.current?.position().firstIndex).find(isArticle)
    if (list.current && first) focus.moveTo(first.key)
  })

  if (isLoaded && rows.length === 0) return <EmptyFeed name={name} view={view} />
  return (
    <div class="feed">
      {/* The role `feed` does not allow the buttons below. */}
      <div
        ref={root}
        class="feed-list"
        role="feed"
        aria-label={name}
        aria-busy={props.messages === undefined || isBusy}
        onClickCapture={holdExpander}
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
          handle={list}
          bufferPx={isSettled ? bufferPx : 0}
          keptIndexes={[focus.index, editingIndex]}
          followsEnd={() => !hasNewer}
          onScrolled={(belowPx) => (staysAtEnd.current = belowPx < nearEndPx)}
          onMoved={() => onListMoved()}
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
              onEdit={onEdit}
              onQuote={props.onQuote && onQuote}
              onMarkUnread={props.onMarkUnread && onMarkUnread}
            />
          )}
        </WindowedList>
      </div>
      <JumpButtons
        pages={pages}
        retryButton={retryButton}
        isLineAbove={isLineAbove}
        isNewestHidden={isNewestHidden}
        hasNewer={hasNewer}
        unreadCount={props.unreadCount}
        openFirstUnread={jumpToLine}
        openNewest={jumpToNewest}
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

/** The role `feed` requires articles, so an empty list has another role. */
const EmptyFeed = ({ name, view }: Pick<MessageListProps, 'name' | 'view'>) => (
  <div class="feed" role="log" aria-live="off" aria-label={name} aria-busy="false">
    {view === 'thread' ? (
      <Empty icon="thread" title={t('No replies yet')} />
    ) : (
      <Empty
        icon="smile"
        title={t('No messages yet')}
        hint={t('Messages stay here. People who join later can read them too.')}
      />
    )}
  </div>
)
