import { t } from '../texts/texts.ts'
import { Icon } from '../ui/icons.tsx'
import { useStable } from '../ui/stable.ts'
import type { ListPosition } from './list-position.ts'
import type { ListScroll, ListTarget } from './list-scroll.ts'
import type { MessageFocus } from './message-focus.ts'
import { failureText } from './page-loader.ts'
import { isArticle } from './rows.ts'
import type { ShownRows } from './shown-rows.ts'

interface JumpButtonsProps {
  shown: ShownRows
  position: ListPosition
  scroll: ListScroll
  focus: MessageFocus
  /** Whether the list ends before the newest message. */
  hasNewer: boolean
  /** Where the list began. */
  target: ListTarget
  unreadCount: number | undefined
  /** Opens the first unread message, if the list does not contain it. */
  openFirstUnread: (() => void) | undefined
  /** Opens the newest messages. The whole list is replaced then. */
  openNewest: ((isByKey: boolean) => void) | undefined
}

/** The buttons over a list of messages, which lead to the unread line and to the newest message. A person with a keyboard keeps the focus. */
export function JumpButtons({ shown, position, scroll, focus, hasNewer, unreadCount, ...props }: JumpButtonsProps) {
  const { rows, newestKey, lineIndex, isLineOutside } = shown
  const { pages, isLineAbove, isNewestHidden } = position

  function jumpToLine(isByKey: boolean) {
    if (isLineOutside) return props.openFirstUnread?.()
    scroll.scrollTo('unread', 'start')
    // The button is removed.
    if (isByKey) focus.moveTo(rows[lineIndex + 1]!.key)
  }

  function jumpToNewest(isByKey: boolean) {
    scroll.staysAtEnd.current = true
    if (hasNewer || typeof props.target === 'object') return props.openNewest?.(isByKey)
    scroll.scrollToEnd()
    if (isByKey && newestKey !== undefined) focus.moveTo(newestKey)
  }

  /** When the button to try again is removed, a person with a keyboard gets the focus on the first message in the viewport. */
  const retryButton = useStable((button: Element | null) => () => {
    // The messages are laid out a moment after this call.
    if (button!.matches(':focus-visible')) queueMicrotask(focusFirstInViewport)
  })
  const focusFirstInViewport = useStable(() => {
    const { current: list } = scroll.handle
    const first = rows.slice(list?.position().firstIndex).find(isArticle)
    if (list && first) focus.moveTo(first.key)
  })

  return (
    <>
      {pages.hasFailed ? (
        <button ref={retryButton} type="button" class="button jump jump-up" onClick={pages.retry}>
          {failureText()}
        </button>
      ) : (
        isLineAbove.value && (
          <button type="button" class="button jump jump-up" onClick={({ detail }) => jumpToLine(detail === 0)}>
            <Icon name="down" />
            {t('Jump to first unread')}
          </button>
        )
      )}
      {(hasNewer || isNewestHidden.value) && (
        <button type="button" class="button jump" onClick={({ detail }) => jumpToNewest(detail === 0)}>
          <Icon name="down" />
          {t('Jump to newest')}
          {(unreadCount ?? 0) > 0 && <span class="count">{unreadCount}</span>}
        </button>
      )}
    </>
  )
}
