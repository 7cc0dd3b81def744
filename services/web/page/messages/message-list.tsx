import type { OutboxEntry } from '@parley/client'
import type { Message } from '@parley/contract'
import { useComputed, useSignal } from '@preact/signals'
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import type { Workspace } from '../app/workspace.ts'
import { dayOf, t } from '../texts/texts.ts'
import { Empty } from '../ui/empty.tsx'
import { Icon } from '../ui/icons.tsx'
import { whenIdle } from '../ui/idle.ts'
import { memo } from '../ui/memo.ts'
import { useStable } from '../ui/stable.ts'
import { MessageArticle } from './message.tsx'
import { PendingArticle } from './pending-article.tsx'
import { estimateHeight, knownHeights, trimHeights } from './row-heights.ts'
import { isArticle, type Row, rowsOf } from './rows.ts'
import { type ListHandle, WindowedList } from './windowed-list.tsx'

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

/** Fetches older messages when fewer pixels than this are above the window, and earlier when somebody scrolls fast. */
const nearTop = 600
/** Until a page has come, somebody who scrolls passes so many times what they have passed in the last moment. */
const pagesTake = 1.5
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
  const list = useRef<ListHandle | null>(null)
  const isAtEnd = useRef(target === undefined)
  const isFetching = useSignal(false)
  const isFlying = useSignal(false)
  /** The first rows are painted, and the browser has had time for more. */
  const isSettled = useSignal(false)
  useEffect(
    () => (messages === undefined ? undefined : whenIdle(() => (isSettled.value = true))),
    [messages === undefined],
  )
  // Bound to the attribute, so that the list is not drawn again because of it.
  const isBusy = useComputed(() => isFetching.value || isFlying.value)
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
  const newestKey = rows.findLast(isArticle)?.key
  const currentIndex = rows.findIndex(({ key }) => key === currentKey.value)
  const lineIndex = rows.findIndex(({ kind }) => kind === 'unread')
  const heights = knownHeights(workspace)
  useLayoutEffect(() => () => trimHeights(heights), [])

  const before = useRef({ sending: outbox.length, hasNewer })
  useLayoutEffect(() => {
    const { sending, hasNewer: hadNewer } = before.current
    before.current = { sending: outbox.length, hasNewer }
    // Whoever writes wants to see it.
    if (outbox.length > sending) isAtEnd.current = true
    // Whoever has read up to the end of what was loaded goes on reading there.
    if (isAtEnd.current && !hasNewer && !hadNewer) list.current?.scrollToEnd()
  }, [newestKey, outbox.length, hasNewer])
  useEffect(look, [rows, hasNewer])

  const targetKey = typeof target === 'object' ? target.messageId : target
  const targetIndex = targetKey === undefined ? -1 : rows.findIndex(({ key }) => key === targetKey)
  useLayoutEffect(() => {
    if (targetIndex < 0) return
    isAtEnd.current = false
    list.current?.scrollTo(targetKey!, 'center')
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
    const { height, above, below, passed, firstIndex } = current.position()
    if (height === 0) return
    isAtEnd.current = below < nearEnd
    isFarFromEnd.value = below > height
    isLineAbove.value =
      readSeq !== undefined &&
      (lineIndex < 0 ? hasOlder && (messages?.[0]?.seq ?? 0) > readSeq + 1 : lineIndex < firstIndex)
    props.onAtEnd?.(isAtEnd.current && !hasNewer)
    if (below < nearEnd && !hasNewer && rows.length > mostAtEnd && !isOldInUse()) props.onTooMany?.(mostAtEnd)
    const near = nearTop + passed * pagesTake
    if (hasOlder && above < near) void fetchPage(onOlder)
    else if (hasNewer && onNewer && below < near) void fetchPage(onNewer)
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
    list.current?.scrollTo(rows[index]!.key, 'nearest')
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
    list.current?.scrollTo(rows[lineIndex]!.key, 'start')
  }

  function jumpToNewest() {
    isAtEnd.current = true
    if (hasNewer || typeof target === 'object') return props.onNewest?.()
    list.current?.scrollToEnd()
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
      aria-busy={messages === undefined || isBusy}
      onKeyDown={onKeyDown}
      onFocusIn={(event) => {
        currentKey.value = (event.target as HTMLElement).closest<HTMLElement>('article')?.dataset.message
      }}
    >
      <WindowedList
        rows={rows}
        heights={heights}
        estimate={estimateHeight}
        isSteady={isArticle}
        handle={list}
        bufferPx={isSettled.value ? bufferPx : 0}
        keptIndex={currentIndex}
        followsEnd={() => !hasNewer}
        onMoved={look}
        onFlight={(value) => (isFlying.value = value)}
      >
        {(row: Row) => (
          <RowView
            key={row.key}
            row={row}
            workspace={workspace}
            place={place}
            isReachedByTab={row.key === (currentIndex < 0 ? newestKey : currentKey.value)}
            isEdited={row.key === props.editedId}
            onEdited={onEdited}
            onQuote={props.onQuote && onQuote}
            onUnread={props.onUnread && onUnread}
          />
        )}
      </WindowedList>
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
  onQuote: MessageListProps['onQuote'] | undefined
  onUnread: MessageListProps['onUnread'] | undefined
}

/** Drawn again when its own row has changed: most of the list stays the same when a message comes. */
const RowView = memo(function RowView({ row, workspace, place, isReachedByTab, ...props }: RowViewProps) {
  const { isEdited, onEdited, onQuote, onUnread } = props
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
