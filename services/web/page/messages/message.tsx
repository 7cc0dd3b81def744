import type { Message } from '@parley/contract'
import { useSignal } from '@preact/signals'
import { memo } from 'preact/compat'
import { useEffect, useId, useRef } from 'preact/hooks'
import { messageAddress, navigate, threadAddress } from '../app/address.ts'
import { attempt } from '../app/problems.ts'
import type { Workspace } from '../app/workspace.ts'
import { dateTimeOf, t, timeOf } from '../texts/texts.ts'
import { Confirm } from '../ui/dialog.tsx'
import { IconButton } from '../ui/icons.tsx'
import { Menu, type MenuItem } from '../ui/menu.tsx'
import { Avatar } from './avatar.tsx'
import { EditMessage } from './edit-message.tsx'
import { EmojiPicker } from './emoji-picker.tsx'
import { Files } from './files.tsx'
import { Text } from './markup.tsx'
import { deleteMessage, togglePin, toggleReaction } from './message-actions.ts'

interface MessageProps {
  message: Message
  workspace: Workspace
  /** Whether author and time are shown: they are not repeated for messages that follow each other closely. */
  isHead: boolean
  /** Within a thread, or for search results, some actions make no sense. */
  place: 'channel' | 'thread' | 'search'
  onQuote?: (message: Message) => void
  /** Whether this message is being edited because of a key in the composer. */
  isEdited?: boolean
  onEdited?: () => void
  isFocused?: boolean
  /** Tab leads to one message of a list; the arrows lead to the others. */
  isReachedByTab?: boolean
}

/** One message: an article with its author and time as name, and its text as description. */
export const MessageArticle = memo(function MessageArticle(props: MessageProps) {
  const { message, workspace, isHead, place, onQuote, isFocused } = props
  const { id, author, content, updatedAt, channelId, threadMeta } = message
  const ids = useId()
  const dialog = useSignal<'react' | 'delete' | null>(null)
  const isEditing = useSignal(false)
  const article = useRef<HTMLElement>(null)
  const userName = workspace.userName(author.id, author.userName)
  const isMine = author.id === workspace.myId
  const isMentioned = message.mentions.some(
    (name) => name === workspace.myId || name === '@channel' || name === '@here',
  )
  const showsEditor = isEditing.value || props.isEdited === true

  useEffect(() => {
    if (isFocused) article.current!.focus()
  }, [isFocused])

  const stopEditing = () => {
    isEditing.value = false
    props.onEdited?.()
    article.current?.focus()
  }

  return (
    <article
      ref={article}
      class="message"
      data-head={isHead || undefined}
      data-mention={(isMentioned && !isMine) || undefined}
      data-message={id}
      tabIndex={props.isReachedByTab ? 0 : -1}
      aria-labelledby={`${ids}-author ${ids}-time`}
      aria-describedby={`${ids}-text`}
    >
      {isHead ? (
        <Avatar name={userName} id={author.id} />
      ) : (
        <MessageTime message={message} id={`${ids}-time`} class="time side-time" />
      )}
      <div>
        <div class={isHead ? 'message-head' : 'visually-hidden'}>
          <span class="author" id={`${ids}-author`} dir="auto">
            {userName}
            {author.isBot && <span class="bot">{t('BOT')}</span>}
          </span>
          {isHead && <MessageTime message={message} id={`${ids}-time`} class="time" />}
        </div>
        {message.quotedMessageId !== null && (
          <Quoted id={message.quotedMessageId} workspace={workspace} channelId={channelId} />
        )}
        {showsEditor ? (
          <EditMessage message={message} workspace={workspace} onDone={stopEditing} />
        ) : (
          <>
            <Text id={`${ids}-text`} content={content} workspace={workspace} />
            {updatedAt !== null && (
              <span class="edited" title={dateTimeOf(updatedAt)}>
                {t('(edited)')}
              </span>
            )}
          </>
        )}
        <Files message={message} workspace={workspace} />
        <Reactions message={message} workspace={workspace} />
        {place === 'channel' && threadMeta && (
          <a class="replies-link" href={threadAddress(channelId, id)}>
            {t('{count, plural, one {# reply} other {# replies}}', { count: threadMeta.replyCount })}
            <span class="quiet">{dateTimeOf(threadMeta.lastReplyAt)}</span>
          </a>
        )}
      </div>
      {place !== 'search' && !showsEditor && (
        <Tools
          message={message}
          workspace={workspace}
          place={place}
          onReact={() => (dialog.value = 'react')}
          onEdit={() => (isEditing.value = true)}
          onDelete={() => (dialog.value = 'delete')}
          onQuote={onQuote}
        />
      )}
      {dialog.value === 'react' && (
        <EmojiPicker
          onChoose={(emoji) => void attempt(toggleReaction(workspace, message, emoji))}
          onClose={() => (dialog.value = null)}
        />
      )}
      {dialog.value === 'delete' && (
        <Confirm
          name={t('Delete message')}
          question={t('This message will be gone for everybody.')}
          action={t('Delete')}
          onConfirm={() => void attempt(deleteMessage(workspace, message))}
          onClose={() => (dialog.value = null)}
        />
      )}
    </article>
  )
})

const MessageTime = ({
  message: { id, channelId, createdAt, threadId },
  ...props
}: {
  message: Message
  id: string
  class: string
}) => (
  <a class={props.class} id={props.id} href={messageAddress(channelId, threadId ?? id)} title={dateTimeOf(createdAt)}>
    <time dateTime={new Date(createdAt).toISOString()}>{timeOf(createdAt)}</time>
  </a>
)

function Quoted({ id, workspace, channelId }: { id: string; workspace: Workspace; channelId: string }) {
  const known = workspace.message(channelId, id)
  const fetched = useSignal<Message | null>(null)
  useEffect(() => {
    if (known) return
    workspace.client.request('GET /messages/:messageId', { params: { messageId: id } }).then(
      ({ message }) => {
        fetched.value = message
      },
      () => {
        // It was deleted, or may not be read: the quotation stays empty.
      },
    )
  }, [id])
  const quoted = known ?? fetched.value
  return (
    <blockquote class="quoted">
      {quoted ? (
        <>
          <a href={messageAddress(quoted.channelId, quoted.id)} class="author">
            {quoted.author.userName}
          </a>
          <Text content={quoted.content} workspace={workspace} />
        </>
      ) : (
        <span>{t('This message is not available')}</span>
      )}
    </blockquote>
  )
}

function Reactions({ message, workspace }: { message: Message; workspace: Workspace }) {
  const reactions = Object.entries(message.reactions)
  if (reactions.length === 0) return null
  return (
    <div class="reactions">
      {reactions.map(([emoji, people]) => (
        <button
          key={emoji}
          type="button"
          class="reaction"
          aria-pressed={people.includes(workspace.myId)}
          title={people.map((id) => workspace.userName(id, '')).join(', ')}
          onClick={() => void attempt(toggleReaction(workspace, message, emoji))}
        >
          <span>{emoji}</span>
          <span>{people.length}</span>
        </button>
      ))}
    </div>
  )
}

interface ToolsProps {
  message: Message
  workspace: Workspace
  place: 'channel' | 'thread'
  onReact: () => void
  onEdit: () => void
  onDelete: () => void
  onQuote: ((message: Message) => void) | undefined
}

function Tools({ message, workspace, place, onReact, onEdit, onDelete, onQuote }: ToolsProps) {
  const { id, author, channelId, pinnedAt } = message
  const isMine = author.id === workspace.myId
  const mayDelete = isMine || (workspace.me.value?.isAdmin === true && !channelId.startsWith('dm:'))
  const canHaveThread = place === 'channel' && !channelId.startsWith('dm:')
  const items: MenuItem[] = [
    ...(canHaveThread
      ? [
          {
            name: pinnedAt === null ? t('Pin') : t('Unpin'),
            onChoose: () => void attempt(togglePin(workspace, message)),
          },
        ]
      : []),
    ...(onQuote ? [{ name: t('Quote'), onChoose: () => onQuote(message) }] : []),
    {
      name: t('Copy link'),
      onChoose: () =>
        void navigator.clipboard.writeText(
          new URL(messageAddress(channelId, message.threadId ?? id), location.href).href,
        ),
    },
  ]
  return (
    <div class="message-tools">
      <IconButton icon="smile" name={t('React')} onClick={onReact} />
      {canHaveThread && (
        <IconButton icon="thread" name={t('Reply in thread')} onClick={() => navigate(threadAddress(channelId, id))} />
      )}
      {isMine && <IconButton icon="edit" name={t('Edit')} onClick={onEdit} />}
      {mayDelete && <IconButton icon="trash" name={t('Delete')} onClick={onDelete} />}
      <Menu icon="more" name={t('More actions')} items={items} />
    </div>
  )
}
