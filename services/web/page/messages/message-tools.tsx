import { isConversationId } from '@parley/client'
import type { Message } from '@parley/contract'
import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { messageAddress, navigate, threadAddress } from '../app/address.ts'
import { saveMessage, togglePin, toggleReaction } from '../app/message-actions.ts'
import type { Workspace } from '../app/workspace.ts'
import { quickEmoji } from '../emoji/emoji-choice.ts'
import { spellingsOf } from '../emoji/spellings.ts'
import { t } from '../texts/texts.ts'
import { copy } from '../ui/copy.ts'
import { passFocus } from '../ui/focus.ts'
import { IconButton } from '../ui/icons.tsx'
import { Menu, type MenuItem } from '../ui/menu.tsx'
import { showNotice } from '../ui/notice.ts'
import { attempt } from '../ui/problems.ts'
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
  const { id, author, content, channelId, pinnedAt } = message
  const isDirect = isConversationId(channelId)
  const isMine = author.id === workspace.myId
  const place = workspace.place(channelId)
  const isOfApp = place?.kind === 'direct' && author.id !== place.conversation.otherUser.id
  // Both people of a conversation may delete the answer of an app.
  const mayDelete = isMine || isOfApp || (workspace.me.value.isAdmin && !isDirect)
  const isOfChannel = view === 'channel' && !isDirect
  const { onQuote, onMarkUnread } = props
  const isSaved = useSignal(false)
  /** The number of changes of `isSaved` by the person. */
  const saves = useRef(0)

  async function save() {
    const next = !isSaved.value
    if (!(await attempt(saveMessage(workspace, message, next)))) return
    isSaved.value = next
    saves.current++
    showNotice(next ? t('Message saved') : t('Message removed from saved'))
  }
  async function refreshSaved() {
    const { current: before } = saves
    const found = await workspace.client.request('GET /messages/:messageId/saved', { params: { messageId: id } })
    // The server may have answered before the last change.
    if (before === saves.current) isSaved.value = found.isSaved
  }

  // Edit and Delete are in the menu, because people would press them by mistake beside the buttons that they use all the time.
  const items: MenuItem[] = [
    ...(isMine ? [{ name: t('Edit'), onChoose: props.onEdit }] : []),
    ...(onMarkUnread && !isMine ? [{ name: t('Mark as unread'), onChoose: () => onMarkUnread(message) }] : []),
    ...(content === '' ? [] : [{ name: t('Copy text'), onChoose: () => void copyText(message) }]),
    { name: t('Copy link'), onChoose: () => void copyLink(message) },
    {
      key: 'saved',
      name: isSaved.value ? t('Remove from saved') : t('Save message'),
      onChoose: () => void save(),
    },
    ...(isOfChannel
      ? [
          {
            key: 'pin',
            name: pinnedAt === null ? t('Pin') : t('Unpin'),
            onChoose: () => void attempt(togglePin(workspace, message)),
          },
        ]
      : []),
    ...(mayDelete ? [{ name: t('Delete'), onChoose: props.onDelete, isDangerous: true, hasSeparator: true }] : []),
  ]
  return (
    <div class="message-tools">
      {quickEmoji().map(
        ({ emoji, shortName }) =>
          // A reaction that exists already has its own button below the message.
          spellingsOf(message.reactions, emoji).length === 0 && (
            <button
              key={shortName}
              ref={passFocus}
              type="button"
              class="icon-button quick"
              data-emoji={emoji}
              aria-label={t('Respond with {name}', { name: shortName })}
              title={t('Respond with {name}', { name: shortName })}
              onClick={() => void attempt(toggleReaction(workspace, message, emoji))}
            />
          ),
      )}
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

async function copyText({ content }: Message) {
  if (await copy(content)) showNotice(t('Text copied'))
}

async function copyLink({ channelId, id, threadId }: Message) {
  if (await copy(new URL(messageAddress(channelId, id, threadId), location.href).href)) showNotice(t('Link copied'))
}
