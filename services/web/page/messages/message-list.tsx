import type { OutboxEntry } from '@parley/client'
import type { Message } from '@parley/contract'
import { useSignal } from '@preact/signals'
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import { VList, type VListHandle } from 'virtua'
import type { Workspace } from '../app/workspace.ts'
import { dayOf, t } from '../texts/texts.ts'
import { Icon } from '../ui/icons.tsx'
import { MessageArticle } from './message.tsx'
import { PendingArticle } from './pending-article.tsx'

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
  readSeq?: number
  /** The message that the address names. */
  focusedId?: string
  editedId?: string | undefined
  onEdited?: () => void
  onQuote?: (message: Message) => void
  /** Told whether the newest message is in sight. */
  onAtEnd?: (isAtEnd: boolean) => void
}

type Row =
  | { kind: 'day'; key: string; at: number }
  | { kind: 'unread'; key: string }
  | { kind: 'message'; key: string; message: Message; isHead: boolean }
  | { kind: 'pending'; key: string; entry: OutboxEntry }

/** Fetches older messages when fewer pixels than this are above the window. */
const nearTop = 600
/** Closer to the end than this counts as being there. */
const nearEnd = 80

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
    focusedId,
  } = props
  const list = useRef<VListHandle>(null)
  const isAtEnd = useRef(focusedId === undefined)
  const isFetching = useRef(false)
  const showsJump = useSignal(false)
  const rows = useMemo(() => rowsOf(messages ?? [], outbox, workspace.myId, readSeq), [messages, outbox, readSeq])
  const firstKey = rows.find(({ kind }) => kind === 'message')?.key
  const newestKey = rows.findLast(({ kind }) => kind === 'message')?.key
  const before = useRef(firstKey)
  // Older messages came in front: the list keeps what is in sight where it is.
  const isPrepended =
    before.current !== undefined && firstKey !== before.current && rows.some(({ key }) => key === before.current)

  useLayoutEffect(() => {
    before.current = firstKey
  }, [firstKey])

  useLayoutEffect(() => {
    if (isAtEnd.current && !hasNewer && rows.length > 0) list.current?.scrollToIndex(rows.length - 1, { align: 'end' })
  }, [rows])

  const focusedIndex = focusedId === undefined ? -1 : rows.findIndex(({ key }) => key === focusedId)
  useEffect(() => {
    if (focusedIndex >= 0) {
      isAtEnd.current = false
      list.current?.scrollToIndex(focusedIndex, { align: 'center' })
    }
  }, [focusedId, focusedIndex >= 0])

  async function fetchPage(load: () => Promise<unknown>) {
    if (isFetching.current) return
    isFetching.current = true
    try {
      await load()
    } finally {
      isFetching.current = false
    }
  }

  function onScroll(offset: number) {
    const { current } = list
    if (!current) return
    const rest = current.scrollSize - current.viewportSize - offset
    isAtEnd.current = rest < nearEnd
    showsJump.value = hasNewer || rest > current.viewportSize
    props.onAtEnd?.(isAtEnd.current && !hasNewer)
    if (hasOlder && offset < nearTop) void fetchPage(onOlder)
    else if (hasNewer && onNewer && rest < nearTop) void fetchPage(onNewer)
  }

  function onKeyDown(event: KeyboardEvent) {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }[event.key]
    if (step === undefined || !(event.target as HTMLElement).matches('article')) return
    event.preventDefault()
    const at = rows.findIndex(({ key }) => key === (event.target as HTMLElement).dataset.message)
    focusRow(at, step)
  }

  function focusRow(from: number, step: number) {
    const direction = Math.sign(step)
    let at = Math.min(Math.max(from + step, 0), rows.length - 1)
    while (rows[at]?.kind !== 'message' && rows[at + direction]) at += direction
    const { key } = rows[at] ?? {}
    if (key === undefined) return
    list.current?.scrollToIndex(at, { align: 'nearest' })
    requestAnimationFrame(() => document.querySelector<HTMLElement>(`[data-message="${CSS.escape(key)}"]`)?.focus())
  }

  if (messages !== undefined && rows.length === 0) {
    return (
      // A feed must have articles.
      <div class="feed" role="log" aria-live="off" aria-label={name} aria-busy="false">
        <div class="empty">
          <p>{place === 'thread' ? t('No replies yet') : t('No messages yet')}</p>
        </div>
      </div>
    )
  }
  return (
    <div class="feed" role="feed" aria-label={name} aria-busy={messages === undefined} onKeyDown={onKeyDown}>
      <VList ref={list as never} className="feed-scroller" data={rows} shift={isPrepended} onScroll={onScroll}>
        {(row: Row) => <RowView key={row.key} row={row} isNewest={row.key === newestKey} {...props} />}
      </VList>
      {showsJump.value && (
        <button
          type="button"
          class="button jump"
          onClick={() => {
            isAtEnd.current = true
            if (hasNewer) props.onNewest?.()
            list.current?.scrollToIndex(rows.length - 1, { align: 'end' })
          }}
        >
          <Icon name="down" />
          {t('Jump to newest')}
        </button>
      )}
    </div>
  )
}

function RowView({
  row,
  workspace,
  place,
  focusedId,
  editedId,
  onEdited,
  onQuote,
  isNewest,
}: MessageListProps & { row: Row; isNewest: boolean }) {
  switch (row.kind) {
    case 'day':
      return <div class="day-line">{dayOf(row.at)}</div>
    case 'unread':
      return <div class="unread-line">{t('New messages')}</div>
    case 'message':
      return (
        <MessageArticle
          // The list changes when messages come and go; each message is followed by itself.
          message={workspace.message(row.message.channelId, row.key) ?? row.message}
          workspace={workspace}
          isHead={row.isHead}
          isReachedByTab={isNewest}
          place={place}
          isFocused={row.key === focusedId}
          isEdited={row.key === editedId}
          {...(onEdited && { onEdited })}
          {...(onQuote && { onQuote })}
        />
      )
    case 'pending':
      return <PendingArticle entry={row.entry} workspace={workspace} />
  }
}

const closeTogetherMs = 5 * 60_000

/** Days, the line before what is unread, messages in their order, and what is being sent behind them. */
function rowsOf(
  messages: readonly Message[],
  outbox: readonly OutboxEntry[],
  myId: string,
  readSeq: number | undefined,
): Row[] {
  const rows: Row[] = []
  let previous: Message | undefined
  let hasLine = false
  for (const message of messages) {
    const isNewDay = !previous || !isSameDay(previous.createdAt, message.createdAt)
    if (isNewDay) rows.push({ kind: 'day', key: `day ${message.id}`, at: message.createdAt })
    const isFirstUnread = !hasLine && readSeq !== undefined && message.seq > readSeq && message.author.id !== myId
    if (isFirstUnread) {
      hasLine = true
      rows.push({ kind: 'unread', key: 'unread' })
    }
    const follows =
      previous?.author.id === message.author.id &&
      message.createdAt - previous.createdAt < closeTogetherMs &&
      message.quotedMessageId === null
    rows.push({ kind: 'message', key: message.id, message, isHead: isNewDay || isFirstUnread || !follows })
    previous = message
  }
  return [...rows, ...outbox.map((entry): Row => ({ kind: 'pending', key: entry.id, entry }))]
}

const isSameDay = (a: number, b: number) => new Date(a).toDateString() === new Date(b).toDateString()
