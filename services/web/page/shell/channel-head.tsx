import { signal, useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { customStatusOf, lineOf } from '../app/custom-status.ts'
import { LoadedDialog } from '../app/loaded-dialog.tsx'
import { createPart } from '../app/part.ts'
import { nameOfPlace, type Place } from '../app/places.ts'
import type { Workspace } from '../app/workspace.ts'
import { AvatarWithPresence } from '../messages/avatar.tsx'
import { renderTopic } from '../messages/markup.tsx'
import { t } from '../texts/texts.ts'
import { Icon, IconButton } from '../ui/icons.tsx'
import { whenIdle } from '../ui/idle.ts'
import { memo } from '../ui/memo.ts'

const toggles = createPart(() => import('./place-toggles.tsx').then((part) => part.PlaceToggles))
const pins = createPart(() => import('../dialogs/pinned-messages.tsx').then((part) => part.PinnedMessages))
const settings = createPart(() => import('../dialogs/channel-settings.tsx').then((part) => part.ChannelSettings))

/**
 * Whether the first view is rendered. The number of members is shown afterwards, because preparing its format takes longer than rendering a
 * channel. The buttons to join, and for favourites and muting, are loaded afterwards too.
 */
const isFirstViewShown = signal(false)

interface ChannelHeadProps {
  workspace: Workspace
  place: Place
}

/** The head of the open channel or conversation, with its buttons. It does not render again with each message. */
export const ChannelHead = memo(function ChannelHead({ workspace, place }: ChannelHeadProps) {
  const dialog = useSignal<'pins' | 'settings' | null>(null)
  const close = () => {
    dialog.value = null
  }
  useEffect(() => (isFirstViewShown.value ? undefined : whenIdle(() => (isFirstViewShown.value = true))), [])
  const Toggles = isFirstViewShown.value ? toggles() : 'loading'
  return (
    <header class="main-head">
      {place.kind === 'channel' ? (
        <Icon name={place.channel.isPrivate ? 'lock' : 'hash'} />
      ) : (
        <OtherPerson workspace={workspace} person={place.conversation.otherUser} />
      )}
      <h1 dir="auto">{nameOfPlace(place)}</h1>
      <span class="topic" dir="auto">
        {place.kind === 'channel'
          ? renderTopic(place.channel.topic)
          : lineOf(customStatusOf(workspace, place.conversation.otherUser.id))}
      </span>
      {typeof Toggles === 'function' && <Toggles workspace={workspace} place={place} />}
      {place.kind === 'channel' && (
        <>
          {isFirstViewShown.value && (
            <button type="button" class="members" onClick={() => (dialog.value = 'settings')}>
              {t('{count, plural, one {# member} other {# members}}', { count: place.channel.memberCount })}
            </button>
          )}
          <IconButton icon="pin" name={t('Pinned messages')} onClick={() => (dialog.value = 'pins')} />
          <IconButton icon="settings" name={t('Channel settings')} onClick={() => (dialog.value = 'settings')} />
          {dialog.value === 'pins' && (
            <LoadedDialog
              name={t('Pinned messages')}
              part={pins}
              onClose={close}
              render={(PinnedMessages) => (
                <PinnedMessages workspace={workspace} channelId={place.channel.id} onClose={close} />
              )}
            />
          )}
          {dialog.value === 'settings' && (
            <LoadedDialog
              name={t('Channel settings')}
              part={settings}
              onClose={close}
              render={(Settings) => <Settings workspace={workspace} channel={place.channel} onClose={close} />}
            />
          )}
        </>
      )}
    </header>
  )
}, isSameHead)

/** The properties that every message changes. */
const changedByMessages = ['lastSeq', 'readSeq', 'unreadCount', 'mentionCount', 'lastMessageAt']

function isSameHead(one: ChannelHeadProps, next: ChannelHeadProps): boolean {
  const [before, now] = [factsOf(one.place), factsOf(next.place)]
  return [...new Set([...Object.keys(before), ...Object.keys(now)])].every(
    (key) => changedByMessages.includes(key) || before[key] === now[key],
  )
}

const factsOf = (place: Place) =>
  (place.kind === 'channel' ? place.channel : place.conversation) as unknown as Record<string, unknown>

/** The other person of a conversation, with their presence. */
function OtherPerson({ workspace, person }: { workspace: Workspace; person: { id: string; userName: string } }) {
  const isReady = workspace.isReady.value
  useEffect(() => (isReady ? workspace.showPresence([person.id]) : undefined), [person.id, isReady])
  return <AvatarWithPresence workspace={workspace} person={person} />
}
