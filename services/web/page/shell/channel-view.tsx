import type { Message } from '@parley/contract'
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { channelAddress, navigate } from '../app/address.ts'
import { attempt } from '../app/problems.ts'
import { nameOfPlace, readStateOfPlace, type Workspace } from '../app/workspace.ts'
import { ChannelSettings } from '../dialogs/channel-settings.tsx'
import { PinnedMessages } from '../dialogs/pinned-messages.tsx'
import { Composer } from '../messages/composer.tsx'
import { MessageList } from '../messages/message-list.tsx'
import { type ChosenFile, upload } from '../messages/uploads.ts'
import { t } from '../texts/texts.ts'
import { Icon, IconButton } from '../ui/icons.tsx'
import { Announcements } from './announcements.tsx'

interface ChannelViewProps {
  workspace: Workspace
  id: string
  messageId: string | undefined
}

const readPauseMs = 500

/** One channel or conversation: its head, its messages, and where one writes. */
export function ChannelView({ workspace, id, messageId }: ChannelViewProps) {
  const place = workspace.place(id)
  const dialog = useSignal<'pins' | 'settings' | null>(null)
  const quoted = useSignal<Message | null>(null)
  const editedId = useSignal<string | undefined>(undefined)
  const files = useSignal<readonly ChosenFile[]>([])
  const isAtEnd = useRef(true)
  const isReady = workspace.isReady.value
  // A message that the address names is shown among its neighbours, once they are there.
  const named = messageId === undefined ? undefined : workspace.message(id, messageId)
  const spot = named && { seq: named.seq }
  const messages = messageId !== undefined && !named ? undefined : workspace.messages(id, spot)
  const outbox = workspace.outbox(id).filter(({ parentId }) => parentId === undefined)
  // The line stays where it was when the channel was opened.
  const readSeq = useRef<number | undefined>(undefined)
  if (readSeq.current === undefined && place) readSeq.current = readStateOfPlace(place).readSeq

  useEffect(() => {
    if (!isReady || !place) return
    void (messageId === undefined ? workspace.open(id) : workspace.openAround(id, { id: messageId }))
  }, [isReady, place !== undefined, messageId])
  useEffect(() => () => workspace.close(id), [id])

  const newestSeq = messages?.at(-1)?.seq ?? 0
  const unreadCount = place ? readStateOfPlace(place).unreadCount : 0
  useEffect(() => {
    if (unreadCount === 0) return
    const timer = setTimeout(() => {
      if (isAtEnd.current && document.visibilityState === 'visible' && document.hasFocus())
        markRead(workspace, id, newestSeq)
    }, readPauseMs)
    return () => clearTimeout(timer)
  }, [newestSeq, unreadCount])

  if (!place) {
    return (
      <main class="main" aria-busy={!isReady}>
        {isReady && (
          <div class="empty">
            <h1>{t('Not found')}</h1>
            <p>{t('There is no such channel, or you may not read it.')}</p>
          </div>
        )}
      </main>
    )
  }

  const name = nameOfPlace(place)
  const isChannel = place.kind === 'channel'
  const editLast = () => {
    editedId.value = messages?.findLast(({ author }) => author.id === workspace.myId)?.id
  }
  const typing = workspace.typing.names(id)
  return (
    <main
      class="main"
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault()
        const dropped = [...(event.dataTransfer?.files ?? [])]
        files.value = [...files.value, ...dropped.map((file) => upload(workspace.client, file))]
      }}
    >
      <header class="main-head">
        {isChannel ? (
          <Icon name={place.channel.isPrivate ? 'lock' : 'hash'} />
        ) : (
          <span class="presence" data-status={workspace.presence(place.conversation.otherUser.id)} aria-hidden="true" />
        )}
        <h1 dir="auto">{name}</h1>
        <span class="topic" dir="auto">
          {isChannel ? place.channel.topic : ''}
        </span>
        {isChannel && (
          <>
            <IconButton icon="pin" name={t('Pinned messages')} onClick={() => (dialog.value = 'pins')} />
            <IconButton icon="settings" name={t('Channel settings')} onClick={() => (dialog.value = 'settings')} />
          </>
        )}
      </header>
      <MessageList
        workspace={workspace}
        name={t('Messages in {name}', { name })}
        messages={messages}
        outbox={spot ? [] : outbox}
        place="channel"
        hasOlder={workspace.hasOlder(id, spot)}
        onOlder={() => workspace.loadOlder(id, spot)}
        hasNewer={workspace.hasNewer(id, spot)}
        onNewer={() => workspace.loadNewer(id, spot)}
        onNewest={() => navigate(channelAddress(id))}
        readSeq={unreadCount > 0 || readSeq.current !== newestSeq ? readSeq.current : undefined}
        focusedId={messageId}
        editedId={editedId.value}
        onEdited={() => (editedId.value = undefined)}
        onQuote={(message) => (quoted.value = message)}
        onAtEnd={(value) => {
          isAtEnd.current = value
          if (value && unreadCount > 0 && document.hasFocus()) markRead(workspace, id, newestSeq)
        }}
      />
      <Composer
        workspace={workspace}
        channelId={id}
        name={t('Message {name}', { name })}
        quoted={quoted.value}
        onQuoteDone={() => (quoted.value = null)}
        onEditLast={editLast}
        files={files.value}
        onFiles={(chosen) => (files.value = chosen)}
      />
      <div class="below-composer">
        {typing.length > 0 &&
          t('{count, plural, one {{names} is typing…} other {{names} are typing…}}', {
            count: typing.length,
            names: new Intl.ListFormat(document.documentElement.lang).format(typing),
          })}
      </div>
      <Announcements workspace={workspace} channelId={id} />
      {dialog.value === 'pins' && isChannel && (
        <PinnedMessages workspace={workspace} channelId={id} onClose={() => (dialog.value = null)} />
      )}
      {dialog.value === 'settings' && isChannel && (
        <ChannelSettings workspace={workspace} channel={place.channel} onClose={() => (dialog.value = null)} />
      )}
    </main>
  )
}

function markRead({ client }: Workspace, id: string, seq: number) {
  if (seq === 0) return
  const body = { seq }
  void attempt(
    id.startsWith('dm:')
      ? client.request('PUT /conversations/:conversationId/read', { params: { conversationId: id }, body })
      : client.request('PUT /channels/:channelId/read', { params: { channelId: id }, body }),
  )
}
