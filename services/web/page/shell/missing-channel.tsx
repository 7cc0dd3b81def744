import { useEffect } from 'preact/hooks'
import { draftsOf } from '../app/unsent-texts.ts'
import type { Workspace } from '../app/workspace.ts'
import { FileCount } from '../messages/pending-article.tsx'
import { t } from '../texts/texts.ts'
import { focusHeading } from '../ui/focus.ts'
import { Icon } from '../ui/icons.tsx'
import { reportStorageFailure } from '../ui/problems.ts'
import { UnsavedEdits, UnsentDraft, UnsentText } from './unsent-text.tsx'

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
  const threads = draftsOf(workspace).flatMap(({ channelId, threadId }) =>
    channelId === id && threadId !== undefined ? [threadId] : [],
  )
  return (
    <div class="empty">
      <Icon name="search" />
      <h1>{t('Not found')}</h1>
      <p>
        {isLost
          ? t('The channel was deleted, or you may not read it any more.')
          : t('There is no such channel or message, or you may not read it.')}
      </p>
      <UnsentDraft workspace={workspace} channelId={id} />
      {threads.map((threadId) => (
        <UnsentDraft key={threadId} workspace={workspace} channelId={id} threadId={threadId} />
      ))}
      <UnsavedEdits workspace={workspace} isWanted={({ channelId }) => channelId === id} />
      {workspace.outbox(id).map((entry) => (
        <UnsentText
          key={entry.id}
          text={entry.body.content}
          onDiscard={() => void workspace.discardMessage(entry.id).catch(reportStorageFailure)}
        >
          <FileCount body={entry.body} />
        </UnsentText>
      ))}
    </div>
  )
}
