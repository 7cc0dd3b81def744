import { isConversationId } from '@parley/client'
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { address } from '../app/address.ts'
import { LoadedDialog } from '../app/loaded-dialog.tsx'
import { createPart } from '../app/part.ts'
import type { Workspace } from '../app/workspace.ts'
import { NewDirectMessage } from '../dialogs/new-direct-message.tsx'
import { t } from '../texts/texts.ts'
import { focusMain } from '../ui/focus.ts'
import { IconButton } from '../ui/icons.tsx'
import { whenIdle } from '../ui/idle.ts'
import { background } from './loaded-background.ts'
import { Places, ThreadsLink } from './sidebar-links.tsx'

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
  const later = workspace.isReady.value && background()
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
        {typeof later === 'object' && <later.UnlistedTexts workspace={workspace} openId={openId} />}
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
    // Not `scrollIntoView`: the sidebar of a narrow page is beside the viewport, and the whole page would scroll.
    const [list, { top, bottom }] = [root.current!.getBoundingClientRect(), row.getBoundingClientRect()]
    if (top < list.top) root.current!.scrollTop -= list.top - top
    else if (bottom > list.bottom) root.current!.scrollTop += bottom - list.bottom
  }, [openId, rows])
  return root
}
