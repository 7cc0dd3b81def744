import { useSignal } from '@preact/signals'
import { address, channelAddress } from '../app/address.ts'
import { nameOfPlace, readStateOfPlace, type Workspace } from '../app/workspace.ts'
import { BrowseChannels } from '../dialogs/browse-channels.tsx'
import { CreateChannel } from '../dialogs/create-channel.tsx'
import { NewDirectMessage } from '../dialogs/new-direct-message.tsx'
import { t } from '../texts/texts.ts'
import { Icon, IconButton } from '../ui/icons.tsx'

/** Channels and direct messages, with what is unread in them. */
export function Sidebar({ workspace }: { workspace: Workspace }) {
  const dialog = useSignal<'create' | 'browse' | 'direct' | null>(null)
  const close = () => {
    dialog.value = null
  }
  return (
    <div class="sidebar">
      <nav aria-label={t('Channels')}>
        <div class="section-head">
          <h2>{t('Channels')}</h2>
          <span>
            <IconButton icon="browse" name={t('Browse channels')} onClick={() => (dialog.value = 'browse')} />
            <IconButton icon="plus" name={t('Create channel')} onClick={() => (dialog.value = 'create')} />
          </span>
        </div>
        <ul>
          {workspace.channelIds().map((id) => (
            <PlaceLink key={id} id={id} workspace={workspace} />
          ))}
        </ul>
      </nav>
      <nav aria-label={t('Direct messages')}>
        <div class="section-head">
          <h2>{t('Direct messages')}</h2>
          <IconButton icon="plus" name={t('New direct message')} onClick={() => (dialog.value = 'direct')} />
        </div>
        <ul>
          {workspace.conversationIds().map((id) => (
            <PlaceLink key={id} id={id} workspace={workspace} />
          ))}
        </ul>
      </nav>
      {dialog.value === 'create' && <CreateChannel workspace={workspace} onClose={close} />}
      {dialog.value === 'browse' && <BrowseChannels workspace={workspace} onClose={close} />}
      {dialog.value === 'direct' && <NewDirectMessage workspace={workspace} onClose={close} />}
    </div>
  )
}

const isOpen = (id: string) => address.value.view === 'channel' && address.value.id === id

/** One line. It renders again when its own channel or conversation has changed, and for nothing else. */
function PlaceLink({ id, workspace }: { id: string; workspace: Workspace }) {
  const place = workspace.place(id)
  if (!place) return null
  const { unreadCount, mentionCount } = readStateOfPlace(place)
  return (
    <li>
      <a
        class="nav-link"
        href={channelAddress(id)}
        aria-current={isOpen(id) ? 'page' : undefined}
        data-unread={unreadCount > 0 || undefined}
      >
        {place.kind === 'channel' ? (
          <Icon name={place.channel.isPrivate ? 'lock' : 'hash'} />
        ) : (
          <span class="presence" data-status={workspace.presence(place.conversation.otherUser.id)} aria-hidden="true" />
        )}
        <span class="name" dir="auto">
          {nameOfPlace(place)}
        </span>
        <Unread count={unreadCount} mentions={place.kind === 'channel' ? mentionCount : unreadCount} />
      </a>
    </li>
  )
}

function Unread({ count, mentions }: { count: number; mentions: number }) {
  if (count === 0) return null
  return (
    <span class={`count ${mentions > 0 ? 'mention' : ''}`}>
      <span aria-hidden="true">{count > 99 ? '99+' : count}</span>
      <span class="visually-hidden">
        {t('{count, plural, one {# unread message} other {# unread messages}}', { count })}
        {mentions > 0 && `, ${t('{count, plural, one {# mention} other {# mentions}}', { count: mentions })}`}
      </span>
    </span>
  )
}
