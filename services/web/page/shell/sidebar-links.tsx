import type { ComponentChildren } from 'preact'
import { address, channelAddress } from '../app/address.ts'
import { hasDraft } from '../app/drafts.ts'
import { detailsOf, nameOfPlace } from '../app/places.ts'
import { mentionCountOf, unreadCountOf } from '../app/unread-counts.ts'
import type { Workspace } from '../app/workspace.ts'
import { AvatarWithPresence } from '../messages/avatar.tsx'
import { renderStatusEmoji } from '../messages/status-emoji.tsx'
import { t } from '../texts/texts.ts'
import { Icon } from '../ui/icons.tsx'
import { memo } from '../ui/memo.ts'

export interface PlacesProps {
  ids: readonly string[]
  openId: string | undefined
  workspace: Workspace
}

/** The browser looks at each group in every frame, and renders only the visible groups. Looking at each row would take longer. */
const groupSize = 20

/** A list of channels or conversations. Screen readers do not announce the groups. */
export function Places({ ids, openId, workspace }: PlacesProps) {
  const groups = Array.from({ length: Math.ceil(ids.length / groupSize) }, (_, group) =>
    ids.slice(group * groupSize, (group + 1) * groupSize),
  )
  return (
    // biome-ignore lint/a11y/useSemanticElements: a <ul> may not contain the groups
    <div role="list">
      {groups.map((group, index) => (
        <div key={index} class="places" style={{ '--rows': group.length }}>
          {group.map((id) => (
            <PlaceLink key={id} id={id} isOpen={id === openId} workspace={workspace} />
          ))}
        </div>
      ))}
    </div>
  )
}

interface PlaceLinkProps {
  id: string
  isOpen: boolean
  workspace: Workspace
}

/** One row. It renders again only when its own channel or conversation has changed, or is opened or closed. */
const PlaceLink = memo(function PlaceLink({ id, isOpen, workspace }: PlaceLinkProps) {
  const place = workspace.place(id)
  if (!place) return null
  const { isMuted } = detailsOf(place)
  const mentionCount = mentionCountOf(workspace, place)
  const unreadCount = unreadCountOf(workspace, place)
  const isDraft = hasDraft(workspace.myId, id) || workspace.quotations.of(id) !== undefined
  return (
    // biome-ignore lint/a11y/useSemanticElements: it is in a group, and not in a <ul>
    <div role="listitem">
      <a
        class="nav-link"
        href={channelAddress(id)}
        aria-current={isOpen ? 'page' : undefined}
        data-unread={(unreadCount > 0 && !isMuted) || undefined}
        data-muted={isMuted || undefined}
        title={isMuted ? t('Muted') : undefined}
      >
        {place.kind === 'direct' ? (
          <AvatarWithPresence workspace={workspace} person={place.conversation.otherUser} />
        ) : place.channel.isPrivate ? (
          <Icon name="lock" />
        ) : (
          <span class="hash" aria-hidden="true" />
        )}
        <span class="name" dir="auto">
          {nameOfPlace(place)}
        </span>
        {place.kind === 'direct' && renderStatusEmoji(workspace, place.conversation.otherUser.id)}
        {!isOpen && isDraft && <Draft />}
        {isMuted && <Icon name="muted" />}
        <Unread count={unreadCount} isForMe={mentionCount > 0 || place.kind === 'direct'}>
          {t('{count, plural, one {# unread message} other {# unread messages}}', { count: unreadCount })}
          {mentionCount > 0 && `, ${t('{count, plural, one {# mention} other {# mentions}}', { count: mentionCount })}`}
        </Unread>
      </a>
    </div>
  )
})

/** The links to the pages of the followed threads, of the mentions and of the saved messages. */
export function ActivityLinks({ workspace }: { workspace: Workspace }) {
  const { value: count } = workspace.unreadThreads
  const { view } = address.value
  return (
    <>
      <a
        class="nav-link"
        href="/threads"
        aria-current={view === 'threads' ? 'page' : undefined}
        data-unread={count > 0 || undefined}
      >
        <Icon name="thread" />
        <span class="name">{t('Threads')}</span>
        <Unread count={count} isForMe>
          {t('{count, plural, one {# unread thread} other {# unread threads}}', { count })}
        </Unread>
      </a>
      <a class="nav-link" href="/mentions" aria-current={view === 'mentions' ? 'page' : undefined}>
        <Icon name="mention" />
        <span class="name">{t('Mentions')}</span>
      </a>
      <a class="nav-link" href="/saved" aria-current={view === 'saved' ? 'page' : undefined}>
        <Icon name="saved" />
        <span class="name">{t('Saved messages')}</span>
      </a>
    </>
  )
}

const Draft = () => (
  <span class="draft" title={t('Draft')}>
    <Icon name="edit" />
    <span class="visually-hidden">{t('Draft')}</span>
  </span>
)

interface UnreadProps {
  count: number
  /** Whether it concerns the person, and not only the channel. */
  isForMe: boolean
  /** For screen readers. */
  children: ComponentChildren
}

/** Larger numbers are not shown exactly. */
const maxShown = 99

const Unread = ({ count, isForMe, children }: UnreadProps) =>
  count > 0 ? (
    <span class={`count ${isForMe ? 'mention' : ''}`}>
      <span aria-hidden="true">{count > maxShown ? `${maxShown}+` : count}</span>
      <span class="visually-hidden">{children}</span>
    </span>
  ) : null
