import { RequestFailed } from '@parley/client'
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { channelAddress, navigate, threadAddress } from '../app/address.ts'
import type { Workspace } from '../app/workspace.ts'
import { Composer } from '../messages/composer.tsx'
import { MessageArticle } from '../messages/message.tsx'
import { MessageList } from '../messages/message-list.tsx'
import { t } from '../texts/texts.ts'
import { useFileDrop } from '../ui/file-drop.ts'
import { IconButton } from '../ui/icons.tsx'
import { ignoreFailure } from '../ui/problems.ts'
import { useStable } from '../ui/stable.ts'

interface ThreadPanelProps {
  workspace: Workspace
  channelId: string
  parentId: string
  /** A reply that the address names. */
  replyId: string | undefined
}

/** A message and its replies, beside the channel. */
export function ThreadPanel({ workspace, channelId, parentId, replyId }: ThreadPanelProps) {
  const isMissing = useSignal(false)
  const editedId = useSignal<string | undefined>(undefined)
  const isReady = workspace.isReady.value
  const parent = workspace.message(channelId, parentId)
  const named = replyId === undefined ? undefined : workspace.message(channelId, replyId)
  const spot = { parentId, ...(named && { seq: named.seq }) }
  const replies = replyId !== undefined && !named && !isMissing.value ? undefined : workspace.messages(channelId, spot)
  const outbox = workspace.outbox(channelId).filter((entry) => entry.parentId === parentId)
  const before = useRef(document.activeElement)
  const drop = useFileDrop((files) => workspace.files.add(parentId, channelId, files))
  const close = () => navigate(channelAddress(channelId))
  const editLast = useStable(() => {
    editedId.value = replies?.findLast(({ author }) => author.id === workspace.myId)?.id
  })

  useEffect(() => {
    if (!isReady) return
    const opened =
      replyId === undefined
        ? workspace.openThread(channelId, parentId)
        : workspace.openAround(channelId, { id: replyId }, parentId)
    opened.catch((error) => {
      if (!(error instanceof RequestFailed)) throw error
      isMissing.value = true
      // The others are shown all the same.
      if (replyId !== undefined) workspace.openThread(channelId, parentId).catch(ignoreFailure)
    })
  }, [isReady, parentId, replyId])

  useEffect(
    () => () => {
      if (before.current instanceof HTMLElement && before.current.isConnected) before.current.focus()
    },
    [],
  )

  return (
    <aside
      class="panel"
      aria-label={t('Thread')}
      onKeyDown={(event) => {
        if (event.key === 'Escape' && !event.defaultPrevented) close()
      }}
      {...drop}
    >
      <header>
        <h2>{t('Thread')}</h2>
        <IconButton icon="close" name={t('Close')} onClick={close} />
      </header>
      {parent ? (
        <div class="thread-parent">
          <MessageArticle message={parent} workspace={workspace} isHead place="thread" />
        </div>
      ) : (
        isMissing.value && <p class="quiet">{t('This message is not available')}</p>
      )}
      <MessageList
        key={replyId}
        workspace={workspace}
        name={t('Replies to {name}', { name: parent?.author.userName ?? '' })}
        messages={replies}
        outbox={outbox}
        place="thread"
        hasOlder={workspace.hasOlder(channelId, spot)}
        onOlder={() => workspace.loadOlder(channelId, spot)}
        hasNewer={workspace.hasNewer(channelId, spot)}
        onNewer={() => workspace.loadNewer(channelId, spot)}
        onNewest={() => navigate(threadAddress(channelId, parentId))}
        target={replyId === undefined ? undefined : { messageId: replyId }}
        editedId={editedId.value}
        onEdited={() => (editedId.value = undefined)}
      />
      <Composer
        workspace={workspace}
        channelId={channelId}
        threadId={parentId}
        name={t('Reply')}
        takesFocus={replyId === undefined}
        onEditLast={editLast}
      />
    </aside>
  )
}
