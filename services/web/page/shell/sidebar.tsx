import { isConversationId } from '@parley/client'
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { address, channelAddress } from '../app/address.ts'
import { hasDraft } from '../app/drafts.ts'
import { LoadedDialog } from '../app/loaded-dialog.tsx'
import { createPart } from '../app/part.ts'
import { nameOfPlace, readStateOfPlace, unreadCountOf, type Workspace } from '../app/workspace.ts'
import { NewDirectMessage } from '../dialogs/new-direct-message.tsx'
import { AvatarWithPresence } from '../messages/avatar.tsx'
import { t } from '../texts/texts.ts'
import { focusMain } from '../ui/focus.ts'
import { Icon, IconButton } from '../ui/icons.tsx'
import { whenIdle } from '../ui/idle.ts'
import { memo } from '../ui/memo.ts'

const create = createPart(() => import('../dialogs/create-channel.tsx').then((part) => part.CreateChannel))
const browse = createPart(() => import('../dialogs/browse-channels.tsx').then((part) => part.BrowseChannels))

/** The lists of channels and direct messages, with their unread counts. */
export function Sidebar({ workspace, onChosen }: { workspace: Workspace; onChosen: () => void }) {
  const dialog = useSignal<'create' | 'browse' | 'direct' | null>(null)
  const close = () => {
    dialog.value = null
  }
  usePresence(workspace)
  const openId = openPlace()
  const channelIds = workspace.channelIds()
  const conversationIds = workspace.conversationIds()
  const isJoined = openId === undefined || isConversationId(openId) || channelIds.includes(openId)
  const rows = useRenderedRows(channelIds.length + conversationIds.length)
  const root = useOpenRowInView(openId, rows)
  const favouriteIds = channelIds.slice(0, rows).filter(workspace.isFavourite)
  return (
    <div
      ref={root}
      class="sidebar"
      onClickCapture={(event) => {
        const link = (event.target as Element).closest('a')
        if (!link) return
        onChosen()
        // The view is open already, so it does not take the focus itself.
        if (link.ariaCurrent) requestAnimationFrame(focusMain)
      }}
    >
      <nav aria-label={t('Threads')}>
        <ThreadsLink workspace={workspace} />
      </nav>
      <nav aria-label={t('Channels')}>
        {favouriteIds.length > 0 && (
          <div class="favourites">
            <div class="section-head">
              <h2>{t('Favourites')}</h2>
            </div>
            <Places ids={favouriteIds} openId={openId} workspace={workspace} />
          </div>
        )}
        <div class="section-head">
          <h2>{t('Channels')}</h2>
          {/* Guests see only their own channels. Others add them to further channels. Before `isReady` the role is not known. */}
          {workspace.isReady.value && workspace.me.value.role !== 'guest' && (
            <span>
              <IconButton icon="browse" name={t('Browse channels')} onClick={() => (dialog.value = 'browse')} />
              <IconButton icon="plus" name={t('Create channel')} onClick={() => (dialog.value = 'create')} />
            </span>
          )}
        </div>
        <Places
          // A channel that is open but not joined is the last one.
          ids={[...channelIds.slice(favouriteIds.length, rows), ...(isJoined ? [] : [openId])]}
          openId={openId}
          workspace={workspace}
        />
      </nav>
      <nav aria-label={t('Direct messages')}>
        <div class="section-head">
          <h2>{t('Direct messages')}</h2>
          <IconButton icon="plus" name={t('New direct message')} onClick={() => (dialog.value = 'direct')} />
        </div>
        <Places
          ids={conversationIds.slice(0, Math.max(0, rows - channelIds.length))}
          openId={openId}
          workspace={workspace}
        />
      </nav>
      {dialog.value === 'create' && (
        <LoadedDialog
          name={t('Create channel')}
          part={create}
          onClose={close}
          render={(CreateChannel) => <CreateChannel workspace={workspace} onClose={close} />}
        />
      )}
      {dialog.value === 'browse' && (
        <LoadedDialog
          name={t('Browse channels')}
          part={browse}
          onClose={close}
          render={(BrowseChannels) => <BrowseChannels workspace={workspace} onClose={close} />}
        />
      )}
      {dialog.value === 'direct' && <NewDirectMessage workspace={workspace} onClose={close} />}
    </div>
  )
}

const openPlace = () => (address.value.view === 'channel' ? address.value.id : undefined)

/** The server accepts at most this number of people in one request for presence. */
const maxPresent = 200

/** Loads the presence of the people in the list of direct messages. */
function usePresence(workspace: Workspace) {
  const isReady = workspace.isReady.value
  const ids = workspace.conversations().map(({ otherUser }) => otherUser.id)
  const shown = ids.slice(0, maxPresent).sort()
  useEffect(() => (isReady && shown.length > 0 ? workspace.showPresence(shown) : undefined), [isReady, shown.join()])
}

/** The smallest height of a row. */
const rowPx = 25
const atOnce = 40

/** The number of rows of both lists to render. The visible rows are rendered first, and the others when the browser is idle. */
function useRenderedRows(count: number): number {
  const rendered = useSignal(Math.ceil(innerHeight / rowPx))
  const hasMore = rendered.value < count
  useEffect(() => {
    if (hasMore) return whenIdle(() => (rendered.value += atOnce))
  }, [rendered.value, hasMore])
  return rendered.value
}

/** Scrolls the sidebar to the row of the channel that was opened, as soon as this row is rendered. Returns the reference to the sidebar. */
function useOpenRowInView(openId: string | undefined, rows: number) {
  const root = useRef<HTMLDivElement>(null)
  const shownId = useRef<string | undefined>(undefined)
  useEffect(() => {
    const row = root.current!.querySelector('[aria-current=page]')?.parentElement
    if (!row || openId === shownId.current) return
    shownId.current = openId
    // Not `scrollIntoView`: the sidebar of a narrow page is beside the viewport, and the whole page would scroll.
    const [list, { top, bottom }] = [root.current!.getBoundingClientRect(), row.getBoundingClientRect()]
    if (top < list.top) root.current!.scrollTop -= list.top - top
    else if (bottom > list.bottom) root.current!.scrollTop += bottom - list.bottom
  }, [openId, rows])
  return root
}

interface PlacesProps {
  ids: readonly string[]
  openId: string | undefined
  workspace: Workspace
}

/** The browser looks at each group in every frame, and renders only the visible groups. Looking at each row would take longer. */
const groupSize = 20

/** A list of channels or conversations. Screen readers do not announce the groups. */
function Places({ ids, openId, workspace }: PlacesProps) {
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
  const { mentionCount, isMuted } = readStateOfPlace(place)
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
        {place.kind === 'channel' ? (
          <Icon name={place.channel.isPrivate ? 'lock' : 'hash'} />
        ) : (
          <AvatarWithPresence workspace={workspace} person={place.conversation.otherUser} />
        )}
        <span class="name" dir="auto">
          {nameOfPlace(place)}
        </span>
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

/** The link to the page of the followed threads. */
function ThreadsLink({ workspace }: { workspace: Workspace }) {
  const { value: count } = workspace.unreadThreads
  return (
    <a
      class="nav-link"
      href="/threads"
      aria-current={address.value.view === 'threads' ? 'page' : undefined}
      data-unread={count > 0 || undefined}
    >
      <Icon name="thread" />
      <span class="name">{t('Threads')}</span>
      <Unread count={count} isForMe>
        {t('{count, plural, one {# unread thread} other {# unread threads}}', { count })}
      </Unread>
    </a>
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

const Unread = ({ count, isForMe, children }: UnreadProps) =>
  count > 0 ? (
    <span class={`count ${isForMe ? 'mention' : ''}`}>
      <span aria-hidden="true">{count > 99 ? '99+' : count}</span>
      <span class="visually-hidden">{children}</span>
    </span>
  ) : null
