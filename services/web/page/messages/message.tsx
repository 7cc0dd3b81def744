import type { Message } from '@parley/contract'
import { useSignal } from '@preact/signals'
import { useEffect, useId } from 'preact/hooks'
import { messageAddress, threadAddress } from '../app/address.ts'
import { toggleReaction } from '../app/message-actions.ts'
import { shownPerson } from '../app/shown-person.ts'
import type { Workspace } from '../app/workspace.ts'
import { dateTimeOf, momentOf, t, timeOf } from '../texts/texts.ts'
import { Confirm } from '../ui/dialog.tsx'
import { attempt, ignoreFailure } from '../ui/problems.ts'
import { Avatar } from './avatar.tsx'
import { Blocks } from './blocks.tsx'
import { EditMessage } from './edit-message.tsx'
import { Files } from './files.tsx'
import { LoadedEmojiPicker } from './loaded-emoji-picker.tsx'
import { beginningOf, renderMessageText } from './long-text.tsx'
import { Text } from './markup.tsx'
import { MessageTools } from './message-tools.tsx'
import { Previews } from './previews.tsx'
import { Reactions } from './reactions.tsx'

interface MessageProps {
  message: Message
  workspace: Workspace
  /** Whether author and time are shown. Several messages of one author within a short time show them once. */
  isHead: boolean
  /**
   * The view that contains the message. `other` is a list of messages from different days or channels, such as search results: it shows
   * dates, and has no tools.
   */
  view: 'channel' | 'thread' | 'other'
  onQuote?: (message: Message) => void
  onUnread?: (message: Message) => void
  /** Called with the message after its reactions have changed, where no events change it. */
  onChanged?: ((message: Message) => void) | undefined
  /** Whether this message is being edited. */
  isEdited?: boolean
  /** Called with the id of the message when its editing begins, and with undefined when it has ended. */
  onEdit?: (id: string | undefined) => void
  /** Whether the Tab key focuses this message. It focuses one message of a list, and the arrow keys move to the others. */
  isReachedByTab?: boolean
}

/** The number of people whose avatars are shown beside the number of replies. */
const maxFaces = 3

/**
 * One message. It is an article whose accessible name is author and time, and whose description is the text. Scrolling renders very many
 * messages, and each component costs time, so a plain message consists of few components.
 */
export function MessageArticle(props: MessageProps) {
  const { message, workspace, isHead, view, isEdited = false } = props
  const { id, author, updatedAt, channelId, threadMeta } = message
  const ids = useId()
  const dialog = useSignal<'react' | 'delete' | null>(null)
  const isPointedAt = useSignal(false)
  const hasFocus = useSignal(false)
  const userName = workspace.userName(author.id, author.userName)
  const isMine = author.id === workspace.myId
  const isMentioned = workspace.mentionsMe(message.mentions)
  const isInUse = isPointedAt.value || hasFocus.value

  // Messages that an earlier version has stored have no blocks and no previews.
  const hasBlocks = message.blocks?.length > 0
  const hasPreviews = message.previews?.length > 0
  const hasFiles = message.attachments.length + message.images.length > 0
  const hasReactions = Object.keys(message.reactions).length > 0

  const content = hasBlocks ? (
    <Blocks key={message.rev} id={`${ids}-text`} message={message} workspace={workspace} />
  ) : (
    renderText({ message, id: `${ids}-text`, workspace, isWhole: view === 'other' })
  )

  async function react(emoji: string) {
    const changed = await attempt(toggleReaction(workspace, message, emoji))
    if (changed) props.onChanged?.(changed.message)
  }

  const stopEditing = (restoreFocus: (() => void) | undefined) => {
    props.onEdit?.(undefined)
    restoreFocus?.()
  }

  return (
    <article
      class="message"
      data-head={isHead || undefined}
      data-mention={(isMentioned && !isMine) || undefined}
      data-message={id}
      data-in-use={isInUse || undefined}
      tabIndex={props.isReachedByTab ? 0 : -1}
      {...(isHead ? { 'aria-labelledby': `${ids}-author ${ids}-time` } : { 'aria-label': nameOf(message, userName) })}
      aria-describedby={`${ids}-text`}
      // Not `onPointerEnter`: during scrolling, rows come under a pointer that does not move.
      onPointerMove={() => (isPointedAt.value = true)}
      onPointerLeave={() => (isPointedAt.value = false)}
      onFocusIn={() => (hasFocus.value = true)}
      onFocusOut={(event) => {
        hasFocus.value = event.currentTarget.contains(event.relatedTarget as Node | null)
      }}
    >
      {isHead ? (
        <Avatar workspace={workspace} name={userName} id={author.id} icon={author.icon} />
      ) : (
        renderTime({ message, class: 'time side-time', isInUse })
      )}
      <div class="message-body">
        {isHead && (
          <div class="message-head">
            <span class="author" id={`${ids}-author`}>
              {author.isBot ? (
                <bdi>{userName}</bdi>
              ) : (
                <button type="button" class="name-button" onClick={() => (shownPerson.value = author)}>
                  <bdi>{userName}</bdi>
                </button>
              )}{' '}
              {author.isBot && <span class="bot">{t('BOT')}</span>}{' '}
              {author.webhookName !== undefined && (
                <span class="quiet" dir="auto">
                  {t('via {name}', { name: author.webhookName })}
                </span>
              )}
            </span>
            {renderTime({ message, id: `${ids}-time`, class: 'time', isDated: view === 'other', isInUse })}
          </div>
        )}
        {message.quotedMessageId !== null && (
          <Quoted id={message.quotedMessageId} workspace={workspace} channelId={channelId} />
        )}
        {isEdited ? (
          <EditMessage message={message} workspace={workspace} onDone={stopEditing} />
        ) : updatedAt === null ? (
          content
        ) : (
          <div class="edited">
            {content} {/* Not in the content, which is the description of the message. */}
            <span class="edited-mark" title={dateTimeOf(updatedAt)}>
              {t('(edited)')}
            </span>
          </div>
        )}
        {hasFiles && <Files message={message} workspace={workspace} />}
        {hasPreviews && <Previews message={message} workspace={workspace} />}
        {hasReactions && (
          <Reactions message={message} workspace={workspace} onToggle={react} onMore={() => (dialog.value = 'react')} />
        )}
        {view === 'channel' && threadMeta && (
          <a class="replies-link" href={threadAddress(channelId, id)}>
            <span class="faces">
              {threadMeta.participants.slice(0, maxFaces).map((person) => (
                <Avatar
                  key={person}
                  workspace={workspace}
                  name={workspace.userName(person, '')}
                  id={person}
                  size="small"
                />
              ))}
            </span>
            {t('{count, plural, one {# reply} other {# replies}}', { count: threadMeta.replyCount })}
            <span class="quiet"> {t('Last reply {when}', { when: momentOf(threadMeta.lastReplyAt) })}</span>
          </a>
        )}
      </div>
      {/* The tools are half of the elements of a message, so they are rendered only while the message is in use. */}
      {view !== 'other' && !isEdited && isInUse && (
        <MessageTools
          message={message}
          workspace={workspace}
          view={view}
          onReact={() => (dialog.value = 'react')}
          onEdit={() => props.onEdit?.(id)}
          onDelete={() => (dialog.value = 'delete')}
          onQuote={props.onQuote}
          onUnread={props.onUnread}
        />
      )}
      {dialog.value === 'react' && (
        <LoadedEmojiPicker
          name={t('React')}
          onChoose={(emoji) => void react(emoji)}
          onClose={() => (dialog.value = null)}
        />
      )}
      {dialog.value === 'delete' && (
        <Confirm
          name={t('Delete message')}
          question={t('This message will be gone for everybody.')}
          confirmLabel={t('Delete')}
          onConfirm={() => workspace.deletions.begin(message)}
          onClose={() => (dialog.value = null)}
        />
      )}
    </article>
  )
}

/** The text of a message. Search results show a long text as a whole, because the words may be anywhere in it. */
const renderText = ({
  message: { id: messageId, content, mentions },
  isWhole,
  ...props
}: Pick<MessageProps, 'message' | 'workspace'> & { id: string; isWhole: boolean }) =>
  isWhole ? (
    <Text content={content} mentions={mentions} {...props} />
  ) : (
    renderMessageText({ messageId, content, mentions, ...props })
  )

/** The accessible name of a message whose author is not shown. */
const nameOf = ({ author, createdAt }: Message, userName: string) =>
  [
    userName,
    author.isBot && t('BOT'),
    author.webhookName !== undefined && t('via {name}', { name: author.webhookName }),
    timeOf(createdAt),
  ]
    .filter(Boolean)
    .join(' ')

/** The time of a message. In search results there are no day lines, so `isDated` adds the date. */
const renderTime = ({
  message: { id, channelId, createdAt, threadId },
  isDated = false,
  isInUse,
  ...props
}: {
  message: Message
  id?: string
  class: string
  isDated?: boolean
  /** Whether the pointer or the focus is on the message. Only then the title is set. */
  isInUse: boolean
}) => (
  <a
    class={props.class}
    id={props.id}
    href={messageAddress(channelId, id, threadId)}
    title={isInUse ? dateTimeOf(createdAt) : undefined}
  >
    <time dateTime={new Date(createdAt).toISOString()}>{isDated ? momentOf(createdAt) : timeOf(createdAt)}</time>
  </a>
)

function Quoted({ id, workspace, channelId }: { id: string; workspace: Workspace; channelId: string }) {
  const known = workspace.message(channelId, id)
  const fetched = useSignal<Message | null>(null)
  useEffect(() => {
    if (known) return
    workspace.client.request('GET /messages/:messageId', { params: { messageId: id } }).then(({ message }) => {
      fetched.value = message
      // The quotation stays empty when the message was deleted, or when the person may not read it.
    }, ignoreFailure)
    // The messages of a channel are forgotten and fetched again when the person joins it, perhaps without the quoted one.
  }, [id, known === undefined])
  const quoted = known ?? fetched.value
  return (
    <blockquote class="quoted">
      {quoted ? (
        <>
          <a href={messageAddress(quoted.channelId, quoted.id, quoted.threadId)} class="author" dir="auto">
            {quoted.author.userName}
          </a>
          <Text content={beginningOf(quoted.content)} mentions={quoted.mentions} workspace={workspace} />
        </>
      ) : (
        <span>{t('This message is not available')}</span>
      )}
    </blockquote>
  )
}
