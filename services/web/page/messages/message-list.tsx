import type { OutboxEntry } from '@parley/client'
import type { Message } from '@parley/contract'
import { useComputed, useSignal } from '@preact/signals'
import { memo } from 'preact/compat'
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import { VList, type VListHandle } from 'virtua'
import type { Workspace } from '../app/workspace.ts'
import { dayOf, t } from '../texts/texts.ts'
import { Empty } from '../ui/empty.tsx'
import { Icon } from '../ui/icons.tsx'
import { whenIdle } from '../ui/idle.ts'
import { useStable } from '../ui/stable.ts'
import { MessageArticle } from './message.tsx'
import { PendingArticle } from './pending-article.tsx'
import { keepHeights, keptHeights } from './row-heights.ts'
import { isArticle, type Row, rowsOf } from './rows.ts'

interface MessageListProps {
  workspace: Workspace
  /** The accessible name of the feed. */
  name: string
  messages: readonly Message[] | undefined
  /** Messages that are still to be sent. */
  outbox: readonly OutboxEntry[]
  place: 'channel' | 'thread'
  hasOlder: boolean
  onOlder: () => Promise<unknown>
  /** Whether the list ends before the newest message: it shows the messages around an older one. */
  hasNewer?: boolean
  onNewer?: () => Promise<unknown>
  /** Leads to the newest messages, where the list does not end with them. */
  onNewest?: () => void
  /** `seq` up to which the person had read when the list was opened; the line stands behind it. */
  readSeq?: number | undefined
  /** Leads to the first unread message, where the list begins behind it. */
  onFirstUnread?: () => void
  /** Where the list begins: a message, which gets the focus, or the line before what is unread. By default at its end. */
  target?: { messageId: string } | 'unread' | undefined
  editedId?: string | undefined
  onEdited?: () => void
  onQuote?: (message: Message) => void
  onUnread?: (message: Message) => void
  /** Told whether the newest message is in sight. */
  onAtEnd?: (isAtEnd: boolean) => void
  /** Told the most messages to keep, when somebody is at the end of a list that has more. */
  onTooMany?: (most: number) => void
}

/** Fetches older messages when fewer pixels than this are above the window. */
const nearTop = 600
/** Closer to the end than this counts as being there. */
const nearEnd = 80
const rowsOfPage = 8
/** So much above and below the window is drawn too. Not before the first paint, which would wait for it. */
const bufferPx = 200
/** Whoever is at the end sees a few of the newest messages; a page that is open for weeks would have very many. */
const mostAtEnd = 300
/** A row that was scrolled to is in the document after a few frames, on a busy machine after many. */
const mostFrames = 300

/** The messages of a channel, conversation or thread. Only those near the window are in the document. */
export function MessageList(props: MessageListProps) {
  const {
    workspace,
    name,
    messages,
    outbox,
    place,
    hasOlder,
    onOlder,
    hasNewer = false,
    onNewer,
    readSeq,
    target,
  } = props
  const root = useRef<HTMLDivElement>(null)
  const onEdited = useStable(() => props.onEdited?.())
  const onQuote = useStable((message: Message) => props.onQuote?.(message))
  const onUnread = useStable((message: Message) => props.onUnread?.(message))
  const list = useRef<VListHandle>(null)
  const isAtEnd = useRef(target === undefined)
  const lastOffset = useRef(0)
  const isFetching = useSignal(false)
  /** The list draws its first rows a moment after it has them, when it knows its height. */
  const hasDrawnRows = useSignal(false)
  /** The first rows are drawn, and the browser has had time for more. */
  const isSettled = useSignal(false)
  /** A row may be there before the messages are: one that is still to be sent. */
  const hasRows = useRef(false)
  const onDrawn = useStable(() => {
    hasRows.current = true
    noteDrawn()
  })
  function noteDrawn() {
    if (messages === undefined || !hasRows.current || hasDrawnRows.value) return
    hasDrawnRows.value = true
    whenIdle(() => (isSettled.value = true))
  }
  useLayoutEffect(noteDrawn, [messages === undefined])
  // Bound to the attribute, so that the list is not drawn again because of it.
  const isBusy = useComputed(() => !hasDrawnRows.value || isFetching.value)
  const isFarFromEnd = useSignal(false)
  const isLineAbove = useSignal(false)
  /** The message that is about to get the focus. */
  const aim = useRef<string | undefined>(undefined)
  /** The message to which Tab leads. */
  const currentKey = useSignal<string | undefined>(undefined)
  const { value: hidden } = workspace.deletions.hidden
  const rows = useMemo(
    () => rowsOf({ messages: messages ?? [], outbox, hidden, myId: workspace.myId, readSeq }),
    [messages, outbox, hidden, readSeq],
  )
  const firstKey = rows.find(({ kind }) => kind === 'message')?.key
  const newestKey = rows.findLast(isArticle)?.key
  const currentIndex = rows.findIndex(({ key }) => key === currentKey.value)
  const lineIndex = rows.findIndex(({ kind }) => kind === 'unread')
  const before = useRef({ firstKey, rows })
  const hasRow = (of: readonly Row[], wanted: string | undefined) => of.some(({ key }) => key === wanted)
  // Older messages came in front, or went: the list keeps what is in sight where it is.
  const isShifted =
    firstKey !== before.current.firstKey &&
    (hasRow(rows, before.current.firstKey) || hasRow(before.current.rows, firstKey))

  useLayoutEffect(() => {
    before.current = { firstKey, rows }
  }, [rows])

  const heights = useMemo(() => keptHeights(workspace, rows), [])
  useLayoutEffect(
    () => () => {
      if (list.current) keepHeights(workspace, before.current.rows, list.current.cache)
    },
    [],
  )

  const sending = useRef(outbox.length)
  useLayoutEffect(() => {
    // Whoever writes wants to see it.
    if (outbox.length > sending.current) isAtEnd.current = true
    sending.current = outbox.length
    if (isAtEnd.current && !hasNewer && rows.length > 0) list.current?.scrollToIndex(rows.length - 1, { align: 'end' })
  }, [rows])
  useEffect(look, [rows, hasNewer])

  const targetKey = typeof target === 'object' ? target.messageId : target
  const targetIndex = targetKey === undefined ? -1 : rows.findIndex(({ key }) => key === targetKey)
  useEffect(() => {
    if (targetIndex < 0) return
    isAtEnd.current = false
    list.current?.scrollToIndex(targetIndex, { align: 'center' })
    if (target !== 'unread') focusWhenThere(targetKey!)
  }, [targetKey, targetIndex >= 0])

  async function fetchPage(load: () => Promise<unknown>) {
    if (isFetching.value) return
    isFetching.value = true
    try {
      await load()
    } finally {
      isFetching.value = false
    }
  }

  /** What is in sight, and what has to be fetched therefore. */
  function look() {
    const { current } = list
    if (!current || rows.length === 0) return
    const { scrollOffset, scrollSize, viewportSize } = current
    if (viewportSize === 0) return
    const rest = scrollSize - viewportSize - scrollOffset
    // Only somebody who scrolls up leaves the end. Messages that come fast make the list longer before it has followed them.
    if (rest < nearEnd) isAtEnd.current = true
    else if (scrollOffset < lastOffset.current) isAtEnd.current = false
    lastOffset.current = scrollOffset
    isFarFromEnd.value = rest > viewportSize
    isLineAbove.value =
      readSeq !== undefined &&
      (lineIndex < 0
        ? hasOlder && (messages?.[0]?.seq ?? 0) > readSeq + 1
        : lineIndex < current.findItemIndex(scrollOffset))
    props.onAtEnd?.(isAtEnd.current && !hasNewer)
    if (rest < nearEnd && !hasNewer && rows.length > mostAtEnd && !isOldInUse()) props.onTooMany?.(mostAtEnd)
    if (hasOlder && scrollOffset < nearTop) void fetchPage(onOlder)
    else if (hasNewer && onNewer && rest < nearTop) void fetchPage(onNewer)
  }

  /** Somebody has the focus on an older message, or edits one: it stays. */
  function isOldInUse(): boolean {
    const isOld = currentIndex >= 0 && currentIndex < rows.length - mostAtEnd / 2
    const { current } = root
    return isOld && (current!.contains(document.activeElement) || current!.querySelector('textarea') !== null)
  }

  function onKeyDown(event: KeyboardEvent) {
    const article = event.target as HTMLElement
    if (!article.matches('article') || event.altKey || event.ctrlKey || event.metaKey) return
    const steps = {
      ArrowDown: 1,
      ArrowUp: -1,
      PageDown: rowsOfPage,
      PageUp: -rowsOfPage,
      Home: -Infinity,
      End: Infinity,
    }
    const step = steps[event.key as keyof typeof steps]
    if (step === undefined) return
    event.preventDefault()
    const articles = rows.flatMap((row, index) => (isArticle(row) ? [index] : []))
    // Keys may come faster than the articles to which they lead.
    const from = aim.current ?? article.dataset.message
    const at = articles.findIndex((index) => rows[index]!.key === from)
    const index = articles[Math.min(Math.max(at + step, 0), articles.length - 1)]
    if (at < 0 || index === undefined) return
    isAtEnd.current = index === articles.at(-1)
    list.current?.scrollToIndex(index, { align: 'nearest' })
    focusWhenThere(rows[index]!.key)
  }

  function focusWhenThere(key: string, frames = mostFrames, before = document.activeElement) {
    aim.current = key
    const article = root.current?.querySelector<HTMLElement>(`[data-message="${CSS.escape(key)}"]`)
    // Whoever has gone on meanwhile stays where they are.
    const hasLeft = document.activeElement !== before && document.activeElement !== document.body
    if (!hasLeft) article?.focus({ preventScroll: true })
    // A row takes no focus until the list has measured it.
    const isFocused = article != null && document.activeElement === article
    if (isFocused || hasLeft || frames === 0 || !root.current) {
      aim.current = undefined
      return
    }
    requestAnimationFrame(() => {
      if (aim.current === key) focusWhenThere(key, frames - 1, before)
    })
  }

  function jumpToLine() {
    if (lineIndex < 0) return props.onFirstUnread?.()
    isAtEnd.current = false
    list.current?.scrollToIndex(lineIndex, { align: 'start' })
  }

  function jumpToNewest() {
    isAtEnd.current = true
    if (hasNewer || typeof target === 'object') return props.onNewest?.()
    list.current?.scrollToIndex(rows.length - 1, { align: 'end' })
  }

  if (messages !== undefined && rows.length === 0) {
    return (
      // A feed must have articles.
      <div class="feed" role="log" aria-live="off" aria-label={name} aria-busy="false">
        {place === 'thread' ? (
          <Empty icon="thread" title={t('No replies yet')} />
        ) : (
          <Empty
            icon="smile"
            title={t('No messages yet')}
            hint={t('What is written here stays for everybody who comes later.')}
          />
        )}
      </div>
    )
  }
  return (
    <div
      ref={root}
      class="feed"
      role="feed"
      aria-label={name}
      aria-busy={isBusy}
      onKeyDown={onKeyDown}
      onFocusIn={(event) => {
        currentKey.value = (event.target as HTMLElement).closest<HTMLElement>('article')?.dataset.message
      }}
    >
      <VList
        ref={list as never}
        className="feed-scroller"
        data={rows}
        {...heights}
        shift={isShifted}
        bufferSize={isSettled.value ? bufferPx : 0}
        onScroll={look}
        keepMounted={currentIndex < 0 ? [] : [currentIndex]}
      >
        {(row: Row) => (
          <RowView
            key={row.key}
            row={row}
            workspace={workspace}
            place={place}
            isReachedByTab={row.key === (currentIndex < 0 ? newestKey : currentKey.value)}
            isEdited={row.key === props.editedId}
            onDrawn={onDrawn}
            onEdited={onEdited}
            onQuote={props.onQuote && onQuote}
            onUnread={props.onUnread && onUnread}
          />
        )}
      </VList>
      {isLineAbove.value && (
        <button type="button" class="button jump jump-up" onClick={jumpToLine}>
          {t('Jump to first unread')}
        </button>
      )}
      {(hasNewer || isFarFromEnd.value) && (
        <button type="button" class="button jump" onClick={jumpToNewest}>
          <Icon name="down" />
          {t('Jump to newest')}
        </button>
      )}
    </div>
  )
}

interface RowViewProps extends Pick<MessageListProps, 'workspace' | 'place' | 'onEdited'> {
  row: Row
  isReachedByTab: boolean
  isEdited: boolean
  onDrawn: () => void
  onQuote: MessageListProps['onQuote'] | undefined
  onUnread: MessageListProps['onUnread'] | undefined
}

/** Drawn again when its own row has changed: most of the list stays the same when a message comes. */
const RowView = memo(function RowView({ row, workspace, place, isReachedByTab, ...props }: RowViewProps) {
  const { isEdited, onDrawn, onEdited, onQuote, onUnread } = props
  useLayoutEffect(onDrawn, [])
  switch (row.kind) {
    case 'day':
      return <div class="day-line">{dayOf(row.at)}</div>
    case 'unread':
      return <div class="unread-line">{t('New messages')}</div>
    case 'message':
      return (
        <MessageArticle
          // Reads the newest version of this message: `rows` changes only when messages come or go.
          message={workspace.message(row.message.channelId, row.key) ?? row.message}
          workspace={workspace}
          isHead={row.isHead}
          isReachedByTab={isReachedByTab}
          place={place}
          isEdited={isEdited}
          {...(onEdited && { onEdited })}
          {...(onQuote && { onQuote })}
          {...(onUnread && { onUnread })}
        />
      )
    case 'pending':
      return <PendingArticle entry={row.entry} workspace={workspace} isReachedByTab={isReachedByTab} />
  }
})
