import { isConversationId } from '@parley/client'
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { openPlaceId } from '../app/address.ts'
import { hasDraft } from '../app/drafts.ts'
import { LoadedDialog } from '../app/loaded-dialog.tsx'
import { createPart } from '../app/part.ts'
import { isCollapsed, type SidebarSection, toggleSection } from '../app/preferences.ts'
import { hasUnread } from '../app/unread-counts.ts'
import type { Workspace } from '../app/workspace.ts'
import { NewDirectMessage } from '../dialogs/new-direct-message.tsx'
import { t } from '../texts/texts.ts'
import { focusMain } from '../ui/focus.ts'
import { IconButton } from '../ui/icons.tsx'
import { whenIdle } from '../ui/idle.ts'
import { background } from './loaded-background.ts'
import { ActivityLinks, Places, type PlacesProps } from './sidebar-links.tsx'

const dialogs = createPart(() => import('../dialogs/sidebar-dialogs.ts').then((part) => part.sidebarDialogs))

/** The lists of channels and direct messages, with their unread counts. */
export function Sidebar({ workspace, onChosen }: { workspace: Workspace; onChosen: () => void }) {
  const dialog = useSignal<'create' | 'browse' | 'direct' | null>(null)
  const close = () => {
    dialog.value = null
  }
  const { value: opened } = dialog
  const { value: openId } = openPlaceId
  const channelIds = workspace.channelIds()
  const later = workspace.isReady.value && background()
  const isJoined = openId === undefined || isConversationId(openId) || channelIds.includes(openId)
  const favouriteIds = channelIds.filter(workspace.isFavourite)
  const favourites = shownIds(workspace, 'favourites', favouriteIds, openId)
  // The favourites are the first ones.
  const others = channelIds.slice(favouriteIds.length)
  // A channel that is open but not joined is the last one.
  const channels = shownIds(workspace, 'channels', isJoined ? others : [...others, openId], openId)
  const conversations = shownIds(workspace, 'conversations', workspace.conversationIds(), openId)
  const rows = useRenderedRows(favourites.length + channels.length + conversations.length)
  const channelRows = Math.max(0, rows - favourites.length)
  const root = useOpenRowInView(openId, rows)
  const shared = { workspace, openId }
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
      <nav aria-label={t('Threads, mentions and saved messages')}>
        <ActivityLinks workspace={workspace} />
      </nav>
      <nav aria-label={t('Channels')}>
        {favouriteIds.length > 0 && (
          <Section {...shared} section="favourites" name={t('Favourites')} ids={favourites.slice(0, rows)} />
        )}
        <Section {...shared} section="channels" name={t('Channels')} ids={channels.slice(0, channelRows)}>
          {/* Guests see only their own channels. Others add them to further channels. Before `isReady` the role is not known. */}
          {workspace.isReady.value && workspace.me.value.role !== 'guest' && (
            <span>
              <IconButton icon="browse" name={t('Browse channels')} onClick={() => (dialog.value = 'browse')} />
              <IconButton icon="plus" name={t('Create channel')} onClick={() => (dialog.value = 'create')} />
            </span>
          )}
        </Section>
        {typeof later === 'object' && <later.UnlistedTexts workspace={workspace} />}
      </nav>
      <nav aria-label={t('Direct messages')}>
        <Section
          {...shared}
          section="conversations"
          name={t('Direct messages')}
          ids={conversations.slice(0, Math.max(0, channelRows - channels.length))}
        >
          <IconButton icon="plus" name={t('New direct message')} onClick={() => (dialog.value = 'direct')} />
        </Section>
      </nav>
      {opened === 'direct' && <NewDirectMessage workspace={workspace} onClose={close} />}
      {opened && opened !== 'direct' && (
        <LoadedDialog
          name={opened === 'create' ? t('Create channel') : t('Browse channels')}
          part={dialogs}
          onClose={close}
          render={(loaded) => {
            const OpenedDialog = loaded[opened]
            return <OpenedDialog workspace={workspace} onClose={close} />
          }}
        />
      )}
    </div>
  )
}

/** The channels or conversations of a section. A collapsed one shows only those with unread messages or a draft, and the open one. */
function shownIds(workspace: Workspace, section: SidebarSection, ids: readonly string[], openId: string | undefined) {
  if (!isCollapsed(section)) return ids
  return ids.filter((id) => id === openId || hasUnread(workspace, id) || hasDraft(workspace.myId, id))
}

interface SectionProps extends PlacesProps {
  section: SidebarSection
  name: string
  /** The buttons of the section. */
  children?: ComponentChildren
}

/** A heading that collapses and expands its list. */
const Section = ({ section, name, children, ...list }: SectionProps) => (
  <>
    <div class="section-head">
      <h2>
        <button type="button" aria-expanded={!isCollapsed(section)} onClick={() => toggleSection(section)}>
          {name}
        </button>
      </h2>
      {children}
    </div>
    <Places {...list} />
  </>
)

/** The smallest height of a row. */
const smallestRowPx = 25
/** The number of rows that are added at once when the browser is idle. */
const addedRows = 40

/** The number of rows of both lists to render. The visible rows are rendered first, and the others when the browser is idle. */
function useRenderedRows(count: number): number {
  const rendered = useSignal(Math.ceil(innerHeight / smallestRowPx))
  const hasMore = rendered.value < count
  useEffect(() => {
    if (hasMore) return whenIdle(() => (rendered.value += addedRows))
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
    // With `scrollIntoView` the whole page would scroll, because the sidebar of a narrow page is beside the viewport.
    const [list, { top, bottom }] = [root.current!.getBoundingClientRect(), row.getBoundingClientRect()]
    if (top < list.top) root.current!.scrollTop -= list.top - top
    else if (bottom > list.bottom) root.current!.scrollTop += bottom - list.bottom
  }, [openId, rows])
  return root
}
