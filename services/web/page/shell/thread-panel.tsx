import { useSignal } from '@preact/signals'
import { useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import { channelAddress, navigate, threadAddress } from '../app/address.ts'
import { createPart } from '../app/part.ts'
import { nameOfPlace } from '../app/places.ts'
import type { Workspace } from '../app/workspace.ts'
import { Composer } from '../messages/composer.tsx'
import { useEditing } from '../messages/editing.ts'
import { MessageArticle } from '../messages/message.tsx'
import { MessageList } from '../messages/message-list.tsx'
import { useOutbox } from '../messages/shown-rows.ts'
import { t } from '../texts/texts.ts'
import { useFileDrop } from '../ui/file-drop.ts'
import { passFocus, rememberFocus } from '../ui/focus.ts'
import { IconButton } from '../ui/icons.tsx'
import { isOfInputMethod } from '../ui/keys.ts'
import { useStable } from '../ui/stable.ts'
import { useOpenThread } from './open-thread.ts'
import { useTargetSeq } from './target-seq.ts'

const missing = createPart(() => import('./missing-thread.tsx').then((part) => part.MissingThread))
const followPart = createPart(() => import('../threads/follow-thread.tsx').then((part) => part.FollowThread))

interface ThreadPanelProps {
  workspace: Workspace
  channelId: string
  parentId: string
  /** The reply that the address names. */
  replyId: string | undefined
  /** Whether the person sees the navigation instead. */
  isCovered: boolean
}

/** The thread of a message, shown beside the channel. */
export function ThreadPanel({ workspace, channelId, parentId, replyId, isCovered }: ThreadPanelProps) {
  /** The unread line is after the reply with this `seq`: the person had read up to it when they opened the thread. */
  const lineSeq = useSignal<number | undefined>(undefined)
  const isAtEnd = useSignal(replyId === undefined)
  const box = useRef<HTMLTextAreaElement>(null)
  const place = workspace.place(channelId)
  const { parent, isGone, targetId } = useOpenThread(workspace, channelId, parentId, replyId)
  const seq = useTargetSeq(workspace, channelId, targetId)
  const position = { parentId, ...(seq !== undefined && { seq }) }
  const timeline = workspace.timeline(channelId, position)
  const replies = targetId !== undefined && seq === undefined ? undefined : timeline.messages
  const FollowThread = followPart()
  const Missing = isGone && missing()
  const outbox = useOutbox(workspace, channelId, parentId)
  const editing = useEditing(workspace, { messages: replies, outbox, box })
  const restoreFocus = useMemo(rememberFocus, [])
  const dropTarget = useFileDrop((files) => workspace.files.add(parentId, channelId, files))
  const close = () => navigate(channelAddress(channelId))
  const toNewest = () => navigate(threadAddress(channelId, parentId))
  // The sent reply is the newest one, and the address may name one far above it.
  const onSent = useStable(() => {
    if (targetId !== undefined) toNewest()
  })
  const takesFocus = useStable(() => replyId === undefined)

  // A person may press Escape before the first frame, and an ordinary effect would not have begun then.
  useLayoutEffect(() => restoreFocus, [])

  return (
    <aside
      ref={passFocus}
      class="panel"
      aria-label={t('Thread')}
      onKeyDown={(event) => {
        if (event.key === 'Escape' && !event.defaultPrevented && !isOfInputMethod(event)) close()
      }}
      {...dropTarget}
    >
      <header>
        <h2>{t('Thread')}</h2>
        <span class="quiet" dir="auto">
          {place && `#${nameOfPlace(place)}`}
        </span>
        {typeof FollowThread !== 'string' && parent && (
          <FollowThread
            workspace={workspace}
            parentId={parentId}
            replies={replies}
            isSeen={isAtEnd.value && !isCovered}
            onReadSeq={(seq) => (lineSeq.value = seq)}
          />
        )}
        <IconButton icon="close" name={t('Close')} onClick={close} />
      </header>
      {parent && (
        <div class="thread-parent">
          <MessageArticle
            message={parent}
            workspace={workspace}
            isHead
            view="thread"
            isEditing={editing.id === parentId}
            onEdit={editing.edit}
          />
        </div>
      )}
      {(!isGone || outbox.length > 0) && (
        <MessageList
          key={targetId}
          workspace={workspace}
          name={t('Replies to {name}', { name: parent?.author.userName ?? '' })}
          {...timeline}
          messages={isGone ? [] : replies}
          outbox={outbox}
          view="thread"
          place={place}
          openNewest={(isByKey) => {
            toNewest()
            if (isByKey) box.current!.focus()
          }}
          lineSeq={lineSeq.value}
          onAtEnd={(value) => (isAtEnd.value = value)}
          target={targetId === undefined ? undefined : { messageId: targetId }}
          editingId={editing.id}
          isResumed={editing.isResumed}
          onEdit={editing.edit}
        />
      )}
      {typeof Missing === 'function' && <Missing workspace={workspace} channelId={channelId} parentId={parentId} />}
      {!isGone && (
        <Composer
          workspace={workspace}
          channelId={channelId}
          threadId={parentId}
          name={t('Reply')}
          takesFocus={takesFocus}
          box={box}
          onEditLast={editing.editLast}
          onSent={onSent}
        />
      )}
    </aside>
  )
}
