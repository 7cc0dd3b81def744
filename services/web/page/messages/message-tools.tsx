import { isConversationId } from '@parley/client'
import type { Message } from '@parley/contract'
import { messageAddress, navigate, threadAddress } from '../app/address.ts'
import { togglePin, toggleReaction } from '../app/message-actions.ts'
import type { Workspace } from '../app/workspace.ts'
import { quickEmoji } from '../emoji/emoji-choice.ts'
import { t } from '../texts/texts.ts'
import { copy } from '../ui/copy.ts'
import { IconButton } from '../ui/icons.tsx'
import { Menu, type MenuItem } from '../ui/menu.tsx'
import { attempt, showNotice } from '../ui/problems.ts'

interface MessageToolsProps {
  message: Message
  workspace: Workspace
  view: 'channel' | 'thread'
  onReact: () => void
  onEdit: () => void
  onDelete: () => void
  onQuote: ((message: Message) => void) | undefined
  onUnread: ((message: Message) => void) | undefined
}

/** The buttons and the menu of a message. */
export function MessageTools({ message, workspace, view, ...props }: MessageToolsProps) {
  const { id, author, channelId, pinnedAt } = message
  const isDirect = isConversationId(channelId)
  const isMine = author.id === workspace.myId
  const mayDelete = isMine || (workspace.me.value.isAdmin && !isDirect)
  const isOfChannel = view === 'channel' && !isDirect
  const { onQuote, onUnread } = props
  const items: MenuItem[] = [
    ...(isOfChannel
      ? [
          {
            name: pinnedAt === null ? t('Pin') : t('Unpin'),
            onChoose: () => void attempt(togglePin(workspace, message)),
          },
        ]
      : []),
    ...(onQuote ? [{ name: t('Quote'), onChoose: () => onQuote(message) }] : []),
    { name: t('Copy link'), onChoose: () => void copyLink(message) },
    ...(onUnread && !isMine ? [{ name: t('Mark as unread'), onChoose: () => onUnread(message) }] : []),
  ]
  return (
    <div class="message-tools">
      {quickEmoji().map(
        ({ emoji, shortName }) =>
          // A reaction that exists already has its own button below the message.
          !Object.hasOwn(message.reactions, emoji) && (
            <button
              key={shortName}
              type="button"
              class="icon-button quick"
              data-emoji={emoji}
              aria-label={t('Respond with {name}', { name: shortName })}
              title={t('Respond with {name}', { name: shortName })}
              onClick={() => void attempt(toggleReaction(workspace, message, emoji))}
            />
          ),
      )}
      <IconButton icon="smile" name={t('React')} onClick={props.onReact} />
      {isOfChannel && (
        <IconButton icon="thread" name={t('Reply in thread')} onClick={() => navigate(threadAddress(channelId, id))} />
      )}
      {isMine && <IconButton icon="edit" name={t('Edit')} onClick={props.onEdit} />}
      {mayDelete && <IconButton icon="trash" name={t('Delete')} onClick={props.onDelete} />}
      <Menu icon="more" name={t('More actions')} items={items} />
    </div>
  )
}

async function copyLink({ channelId, id, threadId }: Message) {
  if (await copy(new URL(messageAddress(channelId, id, threadId), location.href).href)) showNotice(t('Link copied'))
}
