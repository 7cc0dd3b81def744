import { useEffect } from 'preact/hooks'
import { t } from '../texts/texts.ts'
import { focusHeading } from '../ui/focus.ts'
import { Icon } from '../ui/icons.tsx'

interface MissingChannelProps {
  /** Whether the person has just seen the channel. */
  isLost: boolean
}

/** Shown instead of a channel or message that does not exist, or that the person may not read. */
export function MissingChannel({ isLost }: MissingChannelProps) {
  useEffect(() => {
    // What had the focus was removed together with the channel.
    if (document.activeElement === document.body) focusHeading()
  }, [])
  return (
    <div class="empty">
      <Icon name="search" />
      <h1>{t('Not found')}</h1>
      <p>
        {isLost
          ? t('The channel was deleted, or you may not read it any more.')
          : t('There is no such channel or message, or you may not read it.')}
      </p>
    </div>
  )
}
