import { isConversationId } from '@parley/client'
import type { Message } from '@parley/contract'
import { messageAddress, navigate, threadAddress } from '../app/address.ts'
import { pinMessage, saveMessage, toggleReaction } from '../app/message-actions.ts'
import type { Workspace } from '../app/workspace.ts'
import { nameOfEmoji } from '../emoji/emoji.ts'
import { quickEmoji } from '../emoji/emoji-choice.ts'
import { spellingsOf } from '../emoji/spellings.ts'
import { t } from '../texts/texts.ts'
import { copy, copyLink } from '../ui/copy.ts'
import { passFocus } from '../ui/focus.ts'
import { IconButton } from '../ui/icons.tsx'
import { Menu, type MenuItem } from '../ui/menu.tsx'
import { showNotice } from '../ui/notice.ts'
import { ignoreFailure } from '../ui/retries.ts'

interface MessageToolsProps {
  message: Message
  workspace: Workspace
  view: 'channel' | 'thread'
  onReact: () => void
  onEdit: () => void
  onDelete: () => void
  onQuote: ((message: Message) => void) | undefined
  onMarkUnread: ((message: Message) => void) | undefined
}

/** The buttons and the menu of a message. */
export function MessageTools({ message, workspace, view, ...props }: MessageToolsProps) {
  const { id, author, content, channelId } = message
  const isDirect = isConversationId(channelId)
  const isMine = author.id === workspace.myId
  const isPinned = message.pinnedAt !== null
  const place = workspace.place(channelId)
  const isOfApp = place?.kind === 'direct' && author.id !== place.conversation.otherUser.id
  // Both people of a conversation may delete the answer of an app.
  const mayDelete = isMine || isOfApp || (workspace.me.value.isAdmin && !isDirect)
  const isOfChannel = view === 'channel' && !isDirect
  const { onQuote, onMarkUnread } = props
  const { toggles } = workspace
  const isSaved = workspace.isSaved(id)

  async function refreshSaved() {
    const before = toggles.saved.get(id)
    const found = await workspace.client.request('GET /messages/:messageId/saved', { params: { messageId: id } })
    // The server may have answered before the last change.
    if (before === toggles.saved.get(id)) toggles.setSaved(id, found.isSaved)
  }

  // Edit and Delete are in the menu, because people would press them by mistake beside the buttons that they use all the time.
  const items: MenuItem[] = [
    ...(isMine ? [{ name: t('Edit'), onChoose: props.onEdit }] : []),
    ...(onMarkUnread && !isMine ? [{ name: t('Mark as unread'), onChoose: () => onMarkUnread(message) }] : []),
    ...(content === '' ? [] : [{ name: t('Copy text'), onChoose: () => void copyText(message) }]),
    { name: t('Copy link'), onChoose: () => void copyLink(messageAddress(channelId, id, message.threadId)) },
    {
      key: 'saved',
      name: isSaved ? t('Remove from saved') : t('Save message'),
      onChoose: () => {
        const text = isSaved ? t('Message removed from saved') : t('Message saved')
        void announce(text, saveMessage(workspace, message, !isSaved))
      },
    },
    ...(isOfChannel
      ? [
          {
            key: 'pin',
            name: isPinned ? t('Unpin') : t('Pin'),
            onChoose: () => {
              const text = isPinned ? t('Message unpinned') : t('Message pinned')
              void announce(text, pinMessage(workspace, message, !isPinned))
            },
          },
        ]
      : []),
    ...(mayDelete ? [{ name: t('Delete'), onChoose: props.onDelete, isDangerous: true, hasSeparator: true }] : []),
  ]
  return (
    <div class="message-tools">
      {quickEmoji().map(({ emoji, shortName }) => {
        // A reaction that exists already has its own button below the message.
        if (spellingsOf(message.reactions, emoji).length > 0) return null
        const name = t('Respond with {name}', { name: nameOfEmoji(shortName) })
        return (
          <button
            key={shortName}
            ref={passFocus}
            type="button"
            class="icon-button quick"
            data-emoji={emoji}
            aria-label={name}
            title={name}
            onClick={() => void toggleReaction(workspace, message, emoji)}
          />
        )
      })}
      <IconButton icon="react" name={t('React')} onClick={props.onReact} />
      {isOfChannel && (
        <IconButton icon="thread" name={t('Reply in thread')} onClick={() => navigate(threadAddress(channelId, id))} />
      )}
      {onQuote && <IconButton icon="quote" name={t('Quote')} onClick={() => onQuote(message)} />}
      <Menu
        name={t('More actions')}
        items={items}
        onOpen={() => {
          // Without a response the message can be saved once more, which changes nothing.
          void refreshSaved().catch(ignoreFailure)
        }}
      />
    </div>
  )
}

/** Confirms a change at once. After a failure only the error is shown. */
async function announce<Response>(text: string, change: Promise<Response>) {
  showNotice(text)
  const response = await change
  if (!response) showNotice('')
  return response
}

async function copyText({ content }: Message) {
  if (await copy(content)) showNotice(t('Text copied'))
}
