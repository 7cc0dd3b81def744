import type { Message } from '@parley/contract'
import { useSignal } from '@preact/signals'
import { threadAddress } from '../app/address.ts'
import { toggleReaction } from '../app/message-actions.ts'
import type { Workspace } from '../app/workspace.ts'
import { dateTimeOf, momentOf } from '../texts/formats.ts'
import { t } from '../texts/texts.ts'
import { Confirm } from '../ui/dialog.tsx'
import { Icon } from '../ui/icons.tsx'
import { useUniqueId } from '../ui/unique-id.ts'
import { Avatar } from './avatar.tsx'
import { Blocks } from './blocks.tsx'
import { EditMessage } from './edit-message.tsx'
import { Files } from './files.tsx'
import { LoadedEmojiPicker } from './loaded-emoji-picker.tsx'
import { renderMessageText } from './long-text.tsx'
import { Text } from './markup.tsx'
import { nameOf, renderHead, renderTime } from './message-head.tsx'
import { MessageTools } from './message-tools.tsx'
import { Previews } from './previews.tsx'
import { QuotedMessage } from './quoted-message.tsx'
import { Reactions } from './reactions.tsx'

interface MessageProps {
  message: Message
  workspace: Workspace
  /** Whether author and time are shown. Several messages of one author within a short time show them once. */
  isHead: boolean
  /** The id of the day line or unread line above the message, if there is one. Its text belongs to the name of the message. */
  lineId?: string
  /**
   * The view that contains the message. `other` is a list of messages from different days or channels, such as search results: it shows
   * dates, and has no tools.
   */
  view: 'channel' | 'thread' | 'other'
  onQuote?: ((message: Message) => void) | undefined
  onMarkUnread?: ((message: Message) => void) | undefined
  /** Called with the message after its reactions have changed, where no events change it. */
  onChanged?: ((message: Message) => void) | undefined
  /** Whether this message is being edited. */
  isEditing?: boolean
  /** Whether its editor has opened by itself. Then it does not take the focus. */
  isResumed?: boolean | undefined
  /** Called with the id of the message when its editing begins, and with undefined when it has ended. */
  onEdit?: (id: string | undefined) => void
  /** The prefix of the ids of its author, text and files, if the parent refers to them. */
  ids?: string
  /** Whether the Tab key focuses this message. It focuses one message of a list, and the arrow keys move to the others. */
  isReachedByTab?: boolean
}

/** The number of people whose avatars are shown beside the number of replies. */
const maxFaces = 3

/**
 * One message. It is an article whose accessible name is author and time, and whose description is the text, or without a text the files.
 * Scrolling renders very many messages, and each component costs time, so a plain message consists of few components.
 */
export function MessageArticle(props: MessageProps) {
  const { workspace, isHead, view, isEditing = false } = props
  const message = workspace.shown(props.message)
  const { id, author } = message
  const ownIds = useUniqueId()
  const ids = props.ids ?? ownIds
  const dialog = useSignal<'react' | 'delete' | null>(null)
  const isPointedAt = useSignal(false)
  const hasFocus = useSignal(false)
  const userName = workspace.userName(author.id, author.userName)
  const isMine = author.id === workspace.myId
  const isMentioned = workspace.mentionsMe(message.mentions)
  const isInUse = isPointedAt.value || hasFocus.value
  // A list of saved messages, or of others, needs no marks.
  const isSaved = view !== 'other' && workspace.isSaved(id)

  // Messages that an earlier version has stored have no previews.
  const hasPreviews = message.previews?.length > 0
  const hasFiles = message.attachments.length + message.images.length > 0
  const hasReactions = Object.keys(message.reactions).length > 0

  async function react(emoji: string) {
    const changed = await toggleReaction(workspace, message, emoji)
    if (changed?.message) props.onChanged?.(changed.message)
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
      data-saved={isSaved || undefined}
      tabIndex={props.isReachedByTab ? 0 : -1}
      {...(isHead
        ? { 'aria-labelledby': `${ids}-author ${ids}-time ${props.lineId ?? ''}` }
        : { 'aria-label': nameOf(message, userName) })}
      aria-describedby={`${ids}-${message.content === '' && hasFiles ? 'files' : 'text'}`}
      // There is no `onPointerEnter`, because during scrolling, rows come under a pointer that does not move.
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
      {isSaved && (
        <span class="saved-mark" role="img" aria-label={t('Saved')} title={t('Saved')}>
          <Icon name="saved" />
        </span>
      )}
      <div class="message-body">
        {isHead && renderHead({ message, workspace, userName, ids, isDated: view === 'other', isInUse })}
        {message.quotedMessageId !== null && (
          <QuotedMessage id={message.quotedMessageId} channelId={message.channelId} workspace={workspace} />
        )}
        {isEditing ? (
          <EditMessage
            message={message}
            workspace={workspace}
            isResumed={props.isResumed}
            onDone={stopEditing}
            onEmptied={() => (dialog.value = 'delete')}
          />
        ) : (
          renderContent({ message, workspace, id: `${ids}-text`, isWhole: view === 'other' })
        )}
        {hasFiles && <Files id={`${ids}-files`} message={message} workspace={workspace} />}
        {hasPreviews && <Previews message={message} workspace={workspace} />}
        {hasReactions && (
          <Reactions message={message} workspace={workspace} onToggle={react} onMore={() => (dialog.value = 'react')} />
        )}
        {view === 'channel' && renderReplies(message, workspace)}
      </div>
      {/* The tools are half of the elements of a message, so they are rendered only while the message is in use. */}
      {view !== 'other' && !isEditing && isInUse && (
        <MessageTools
          message={message}
          workspace={workspace}
          view={view}
          onReact={() => (dialog.value = 'react')}
          onEdit={() => props.onEdit?.(id)}
          onDelete={() => (dialog.value = 'delete')}
          onQuote={props.onQuote}
          onMarkUnread={props.onMarkUnread}
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

interface ContentProps {
  message: Message
  workspace: Workspace
  id: string
  /** Whether a long text is shown as a whole. In search results, the words that were found may be anywhere in it. */
  isWhole: boolean
}

/** The blocks or the text of a message, and "(edited)". */
function renderContent({ message, workspace, id, isWhole }: ContentProps) {
  const { content, mentions, updatedAt } = message
  const text = { content, mentions, workspace, id }
  // Messages that an earlier version has stored have no blocks.
  const shown =
    message.blocks?.length > 0 ? (
      <Blocks key={message.rev} id={id} message={message} workspace={workspace} />
    ) : isWhole ? (
      <Text {...text} />
    ) : (
      renderMessageText({ messageId: message.id, ...text })
    )
  if (updatedAt === null) return shown
  return (
    <div class="edited">
      {shown} {/* Not in the element that describes the message to screen readers. */}
      <span class="edited-mark" title={dateTimeOf(updatedAt)}>
        {t('(edited)')}
      </span>
    </div>
  )
}

/** A link to the thread of a message, if it has one. */
const renderReplies = ({ id, channelId, threadMeta }: Message, workspace: Workspace) =>
  threadMeta && (
    <a class="replies-link" href={threadAddress(channelId, id)}>
      <span class="faces">
        {threadMeta.participants.slice(0, maxFaces).map((person) => (
          <Avatar key={person} workspace={workspace} name={workspace.userName(person, '')} id={person} size="small" />
        ))}
      </span>
      {t('{count, plural, one {# reply} other {# replies}}', { count: threadMeta.replyCount })}
      <span class="quiet"> {t('Last reply {when}', { when: momentOf(threadMeta.lastReplyAt) })}</span>
    </a>
  )
