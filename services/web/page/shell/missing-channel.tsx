import { useEffect } from 'preact/hooks'
import { address } from '../app/address.ts'
import type { Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'
import { focusHeading } from '../ui/focus.ts'
import { Icon } from '../ui/icons.tsx'
import { UnsentText } from './unsent-text.tsx'

interface MissingChannelProps {
  workspace: Workspace
  id: string
  /** Whether the person has just seen the channel. */
  isLost: boolean
}

/** Shown instead of a channel or message that does not exist, or that the person may not read. */
export function MissingChannel({ workspace, id, isLost }: MissingChannelProps) {
  useEffect(() => {
    // What had the focus was removed together with the channel.
    if (document.activeElement === document.body) focusHeading()
  }, [])
  const { value: shown } = address
  const threadId = shown.view === 'channel' ? shown.threadId : undefined
  return (
    <div class="empty">
      <Icon name="search" />
      <h1>{t('Not found')}</h1>
      <p>
        {isLost
          ? t('The channel was deleted, or you may not read it any more.')
          : t('There is no such channel or message, or you may not read it.')}
      </p>
      <UnsentText workspace={workspace} destinationId={id} />
      {threadId !== undefined && <UnsentText workspace={workspace} destinationId={threadId} />}
    </div>
  )
}
