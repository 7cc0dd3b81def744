import { useSignal } from '@preact/signals'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { isArticle, type Row } from './rows.ts'

interface MessageFocusOptions {
  /** The element that contains the list. */
  root: { current: HTMLElement | null }
  rows: readonly Row[]
  /** The key of the newest message, also of an unsent one. */
  newestKey: string | undefined
  myId: string
  /** Called when a key moves the focus to this row. The list must scroll to it. */
  onMove: (key: string) => void
}

export type MessageFocus = ReturnType<typeof useMessageFocus>

/** The rows that the keys PageUp and PageDown move. */
const rowsOfPage = 8
/** The number of frames to wait until a row is rendered and can get the focus. A few are enough, except on a busy machine. */
const maxFrames = 300
const steps = new Map([
  ['ArrowDown', 1],
  ['ArrowUp', -1],
  ['PageDown', rowsOfPage],
  ['PageUp', -rowsOfPage],
  ['Home', -Infinity],
  ['End', Infinity],
])

/**
 * The keyboard focus in a list of messages. The Tab key focuses one message of the list, and other keys move the focus to the others, as
 * the pattern "feed" of WAI-ARIA says. The focus stays in the list when its message is removed.
 */
export function useMessageFocus({ root, rows, newestKey, myId, onMove }: MessageFocusOptions) {
  /** The key of the message that had the focus last. */
  const currentKey = useSignal<string | undefined>(undefined)
  /** The key of the message that is about to get the focus. */
  const nextKey = useRef<string | undefined>(undefined)
  const index = rows.findIndex(({ key }) => key === currentKey.value)

  const rowsBefore = useRef(rows)
  /** The removed row that had the focus, until another message is loaded that can get it. */
  const lostRow = useRef<Row | undefined>(undefined)
  useLayoutEffect(() => {
    const before = rowsBefore.current
    rowsBefore.current = rows
    const removed = index < 0 ? (before.find(({ key }) => key === currentKey.value) ?? lostRow.current) : undefined
    if (!removed) return
    const next = (removed.kind === 'pending' ? keyInsteadOf(removed) : remainingKeyAfter(before, removed)) ?? newestKey
    lostRow.current = next === undefined ? removed : undefined
    currentKey.value = next
    if (next !== undefined && document.activeElement === document.body) moveTo(next)
  }, [rows])

  /** The key of the message that replaces an unsent one: the same message when it is retried, which keeps its time, or the sent one. */
  function keyInsteadOf({ entry: { createdAt } }: Row & { kind: 'pending' }): string | undefined {
    const retried = rows.find((row) => row.kind === 'pending' && row.entry.createdAt === createdAt)
    return (retried ?? rows.findLast((row) => row.kind === 'message' && row.message.author.id === myId))?.key
  }

  function remainingKeyAfter(before: readonly Row[], removed: Row): string | undefined {
    const remaining = new Set(rows.map(({ key }) => key))
    return before.slice(before.indexOf(removed)).find((row) => isArticle(row) && remaining.has(row.key))?.key
  }

  /** Gives the focus to a message as soon as it is rendered, unless the person moves the focus meanwhile. */
  function moveTo(key: string, frames = maxFrames, before = document.activeElement) {
    nextKey.current = key
    const article = root.current?.querySelector<HTMLElement>(`[data-message="${CSS.escape(key)}"]`)
    const hasLeft = document.activeElement !== before && document.activeElement !== document.body
    if (!hasLeft) article?.focus({ preventScroll: true })
    // A row cannot get the focus before it is laid out.
    const isFocused = article != null && document.activeElement === article
    if (isFocused || hasLeft || frames === 0 || !root.current) {
      nextKey.current = undefined
      return
    }
    requestAnimationFrame(() => {
      if (nextKey.current === key) moveTo(key, frames - 1, before)
    })
  }

  return {
    moveTo,
    /** The index of the message that had the focus last. -1: none. */
    index,
    /** The key of the message that the Tab key focuses. */
    tabKey: index < 0 ? newestKey : currentKey.value,

    /** The index of the message that has the focus. -1: none. */
    focusedIndex: () => (root.current!.contains(document.activeElement) ? index : -1),

    onFocusIn(event: FocusEvent) {
      lostRow.current = undefined
      currentKey.value = (event.target as HTMLElement).closest<HTMLElement>('article')?.dataset.message
    },

    onKeyDown(event: KeyboardEvent) {
      const target = event.target as HTMLElement
      const step = steps.get(event.key)
      // Shift+Tab leads from the text box to a link in the newest message.
      if (step === undefined || !target.matches('article, a') || event.altKey || event.ctrlKey || event.metaKey) return
      event.preventDefault()
      const articles = rows.filter(isArticle)
      // Keys may be pressed faster than the articles are rendered.
      const from = nextKey.current ?? target.closest<HTMLElement>('article')?.dataset.message
      const at = articles.findIndex(({ key }) => key === from)
      const next = articles[Math.min(Math.max(at + step, 0), articles.length - 1)]
      if (at < 0 || !next) return
      onMove(next.key)
      moveTo(next.key)
    },
  }
}
