import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { address } from '../app/address.ts'
import { hasAttention } from '../app/attention.ts'
import { NotLoaded } from '../app/page.tsx'
import { createPart } from '../app/part.ts'
import { detailsOf, nameOfPlace, type Place } from '../app/places.ts'
import type { Workspace } from '../app/workspace.ts'
import { Composer } from '../messages/composer.tsx'
import { useEditing } from '../messages/editing.ts'
import { LoadedEphemeralMessages } from '../messages/loaded-ephemeral-messages.tsx'
import { MessageList } from '../messages/message-list.tsx'
import { useOutbox } from '../messages/shown-rows.ts'
import { t } from '../texts/texts.ts'
import { useFileDrop } from '../ui/file-drop.ts'
import { useStable } from '../ui/stable.ts'
import { ChannelHead } from './channel-head.tsx'
import { useOpenPlace } from './open-place.ts'
import { useReading } from './reading.ts'
import { useShownPart } from './shown-part.ts'
import { Typing } from './typing.tsx'
import { useUnreadLine } from './unread-line.ts'

const missing = createPart(() => import('./missing-channel.tsx').then((part) => part.MissingChannel))

interface ChannelViewProps {
  workspace: Workspace
  id: string
  messageId: string | undefined
  /** Whether the person sees the navigation or a thread instead. */
  isCovered: boolean
}

/** One channel or conversation: its head, its messages and the composer. */
export function ChannelView({ workspace, id, messageId, isCovered }: ChannelViewProps) {
  const place = workspace.place(id)
  const wasShown = useRef(false)
  if (place) wasShown.current = true
  /** It was deleted, or the person was removed from it, or has left it. */
  const isLost = wasShown.current && !place
  useOpenPlace(workspace, id, messageId, isLost)

  if (workspace.missingId.value === (messageId ?? id)) {
    const Missing = missing()
    return (
      <main class="main" aria-busy={Missing === 'loading'}>
        {Missing === 'failed' && <NotLoaded />}
        {typeof Missing === 'function' && <Missing workspace={workspace} id={id} isLost={isLost} />}
      </main>
    )
  }
  if (!place) return <main class="main" aria-busy="true" />
  return <OpenChannel workspace={workspace} id={id} place={place} messageId={messageId} isCovered={isCovered} />
}

const none: readonly [] = []

type OpenChannelProps = ChannelViewProps & { place: Place }

function OpenChannel({ workspace, id, place, messageId, isCovered }: OpenChannelProps) {
  const isAtEnd = useSignal(messageId === undefined)
  const part = useShownPart(workspace, id, messageId)
  const { position } = part
  const timeline = workspace.timeline(id, position)
  const messages = part.isUnknown ? undefined : timeline.messages
  const outbox = useOutbox(workspace, id)
  const newestSeq = messages?.at(-1)?.seq ?? 0
  const { unreadCount, readSeq, lastSeq } = detailsOf(place)

  const isMarked = workspace.marks.isMarked(id, { readSeq })
  const isAway = isCovered || !hasAttention.value
  const isSeen = newestSeq > 0 && isAtEnd.value && !isMarked && !isAway
  const seenSeq = useReading(workspace, { id, unreadCount, newestSeq, isSeen })
  const line = useUnreadLine(workspace, id, { readSeq, seenSeq, unreadCount, isMarked, isAtEnd: isAtEnd.value, isAway })

  useEffect(() => void workspace.quotations.check(id), [])

  const dropTarget = useFileDrop((files) => workspace.files.add(id, id, files))
  const name = nameOfPlace(place)
  const box = useRef<HTMLTextAreaElement>(null)
  const editing = useEditing(workspace, { messages, outbox, box })
  const takesFocus = useStable(() => !isElsewhere(workspace) && messageId === undefined && !isThreadOpen())
  return (
    <main class="main" {...dropTarget}>
      <ChannelHead workspace={workspace} place={place} />
      <MessageList
        key={part.key}
        workspace={workspace}
        name={t('Messages in {name}', { name })}
        {...timeline}
        messages={messages}
        outbox={timeline.hasNewer ? none : outbox}
        view="channel"
        place={place}
        unreadCount={unreadCount}
        openNewest={(isByKey) => {
          part.openNewest()
          // The button that had the focus is removed. Without a keyboard the text box must not get it: a phone would show its keyboard.
          if (isByKey) box.current!.focus()
        }}
        {...line}
        openFirstUnread={() => part.openUnread(line.lineSeq! + 1)}
        target={part.target}
        editingId={editing.id}
        isResumed={editing.isResumed}
        onEdit={editing.edit}
        onQuote={(message) => {
          workspace.quotations.set(id, { id: message.id, userName: message.author.userName })
          box.current!.focus()
        }}
        onMarkUnread={(message) => {
          workspace.marks.set(id, message, { messages: messages!, hasNewer: timeline.hasNewer, lastSeq })
          line.mark(message.seq - 1)
        }}
        onAtEnd={(value) => (isAtEnd.value = value)}
        {...(position === undefined && { trim: (most: number) => workspace.trimMessages(id, most) })}
      />
      <LoadedEphemeralMessages workspace={workspace} channelId={id} />
      {place.kind === 'direct' && workspace.user(place.conversation.otherUser.id)?.isActive === false && (
        <p class="composer-hint">{t('This person is deactivated and cannot read messages.')}</p>
      )}
      <Composer
        workspace={workspace}
        channelId={id}
        name={t('Message {name}', { name })}
        takesFocus={takesFocus}
        box={box}
        onEditLast={editing.editLast}
        onSent={part.openNewest}
      />
      <Typing workspace={workspace} id={id} />
    </main>
  )
}

const isThreadOpen = () => {
  const shown = address.peek()
  return shown.view === 'channel' && shown.threadId !== undefined
}

/** The workspace in which a channel was opened. The first one opens by itself. */
let openedIn: Workspace | undefined

/**
 * Whether the person is typing a search or is in a menu, or, when the first channel opens, uses anything in the top bar. They keep the
 * focus.
 */
function isElsewhere(workspace: Workspace): boolean {
  const elements = openedIn === workspace ? '.search input:not(:placeholder-shown), [role=menuitem]' : '.top-bar *'
  openedIn = workspace
  return document.activeElement?.matches(elements) === true
}
