import type { ReadonlySignal } from '@preact/signals'
import type { Ref } from 'preact'
import { t } from '../texts/texts.ts'
import { Icon } from '../ui/icons.tsx'
import { failureText, type PageLoader } from './page-loader.ts'

interface JumpButtonsProps {
  pages: PageLoader
  /** The `ref` of the button to try again. */
  retryButton: Ref<HTMLButtonElement>
  /** Whether the unread line is above the viewport. */
  isLineAbove: ReadonlySignal<boolean>
  isNewestHidden: ReadonlySignal<boolean>
  /** Whether the list ends before the newest message. */
  hasNewer: boolean
  unreadCount: number | undefined
  /** These are called with whether the person has used the keyboard. */
  openFirstUnread: (isByKey: boolean) => void
  openNewest: (isByKey: boolean) => void
}

/** The buttons over a list of messages, which lead to the unread line and to the newest message. */
export const JumpButtons = ({ pages, isLineAbove, hasNewer, unreadCount, ...props }: JumpButtonsProps) => (
  <>
    {pages.hasFailed ? (
      <button ref={props.retryButton} type="button" class="button jump jump-up" onClick={pages.retry}>
        {failureText()}
      </button>
    ) : (
      isLineAbove.value && (
        <button type="button" class="button jump jump-up" onClick={({ detail }) => props.openFirstUnread(detail === 0)}>
          <Icon name="down" />
          {t('Jump to first unread')}
        </button>
      )
    )}
    {(hasNewer || props.isNewestHidden.value) && (
      <button type="button" class="button jump" onClick={({ detail }) => props.openNewest(detail === 0)}>
        <Icon name="down" />
        {t('Jump to newest')}
        {(unreadCount ?? 0) > 0 && <span class="count">{unreadCount}</span>}
      </button>
    )}
  </>
)
