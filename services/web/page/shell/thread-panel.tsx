import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { channelAddress, navigate } from '../app/address.ts'
import type { Workspace } from '../app/workspace.ts'
import { Composer } from '../messages/composer.tsx'
import { MessageArticle } from '../messages/message.tsx'
import { MessageList } from '../messages/message-list.tsx'
import type { ChosenFile } from '../messages/uploads.ts'
import { t } from '../texts/texts.ts'
import { IconButton } from '../ui/icons.tsx'

interface ThreadPanelProps {
  workspace: Workspace
  channelId: string
  parentId: string
}

/** A message and its replies, beside the channel. */
export function ThreadPanel({ workspace, channelId, parentId }: ThreadPanelProps) {
  const files = useSignal<readonly ChosenFile[]>([])
  const isReady = workspace.isReady.value
  const parent = workspace.message(channelId, parentId)
  const outbox = workspace.outbox(channelId).filter((entry) => entry.parentId === parentId)
  const close = () => navigate(channelAddress(channelId))

  useEffect(() => {
    if (isReady) void workspace.openThread(channelId, parentId)
  }, [isReady, parentId])

  return (
    <aside
      class="panel"
      aria-label={t('Thread')}
      onKeyDown={(event) => {
        if (event.key === 'Escape' && !event.defaultPrevented) close()
      }}
    >
      <header>
        <h2>{t('Thread')}</h2>
        <IconButton icon="close" name={t('Close')} onClick={close} />
      </header>
      {parent && <MessageArticle message={parent} workspace={workspace} isHead place="thread" />}
      <MessageList
        workspace={workspace}
        name={t('Replies to {name}', { name: parent?.author.userName ?? '' })}
        messages={workspace.replies(channelId, parentId)}
        outbox={outbox}
        place="thread"
        hasOlder={workspace.hasOlderReplies(channelId, parentId)}
        onOlder={() => workspace.loadOlder(channelId, { parentId })}
      />
      <Composer
        workspace={workspace}
        channelId={channelId}
        threadId={parentId}
        name={t('Reply')}
        files={files.value}
        onFiles={(chosen) => (files.value = chosen)}
      />
    </aside>
  )
}
