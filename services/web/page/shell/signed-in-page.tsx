import { type Signal, useSignal, useSignalEffect } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { Account } from '../account/account.tsx'
import { Administration } from '../admin/administration.tsx'
import { type Address, accountPages, address, channelAddress, navigate } from '../app/address.ts'
import { isNarrow } from '../app/attention.ts'
import { LoadedDialog } from '../app/loaded-dialog.tsx'
import { Page } from '../app/page.tsx'
import { accountPageName, adminPageName } from '../app/page-names.ts'
import { createPart } from '../app/part.ts'
import { shownPerson } from '../app/shown-person.ts'
import { nameOfPlace, unreadCountOf, unreadTotals, type Workspace } from '../app/workspace.ts'
import { LoadedKeyboardShortcuts } from '../dialogs/loaded-keyboard-shortcuts.tsx'
import { QuickSwitcher } from '../dialogs/quick-switcher.tsx'
import { SearchPage } from '../search/search-page.tsx'
import { t } from '../texts/texts.ts'
import { markIcon, showTitle } from '../ui/browser-tab.ts'
import { focusHeading } from '../ui/focus.ts'
import { Announcements } from './announcements.tsx'
import { ChannelView } from './channel-view.tsx'
import { Sidebar } from './sidebar.tsx'
import { ThreadPanel } from './thread-panel.tsx'
import { Toasts } from './toasts.tsx'
import { TopBar } from './top-bar.tsx'

type OpenDialog = 'switcher' | 'shortcuts'

const threads = createPart(() => import('../threads/threads-page.tsx').then((part) => part.Threads))
const card = createPart(() => import('../dialogs/person-card.tsx').then((part) => part.PersonCard))

/** The whole page of a signed-in person: top bar, sidebar, the chosen view and dialogs. */
export function SignedInPage({ workspace }: { workspace: Workspace }) {
  /** Whether the sidebar of a narrow page is open. */
  const navigation = useSignal(false)
  const dialog = useSignal<OpenDialog | null>(null)
  const wasHome = useRef(true)
  const { value: shown } = address

  useSignalEffect(() => {
    const { view } = address.value
    // The first channel opens automatically. That must not close the navigation, which the person may have opened meanwhile.
    if (wasHome.current) wasHome.current = view === 'home'
    else navigation.value = false
    if (view === 'home' && workspace.isReady.value) {
      const [first] = workspace.placeIds()
      if (first) navigate(channelAddress(first), { replace: true })
    }
    // The element that had the focus was removed, so the heading gets the focus. In a channel the text box gets it.
    if (view !== 'channel' && view !== 'home') requestAnimationFrame(focusHeading)
  })
  useSignalEffect(() => {
    showTitle(titleOf(workspace))
  })
  useSignalEffect(() => void markIcon(hasUnreadForMe(workspace)))
  useShortcuts(workspace, dialog, navigation)

  /** Returns a function that closes this dialog. Its event `close` comes a little later, and another dialog may be open by then. */
  const closerOf = (which: OpenDialog) => () => {
    if (dialog.value === which) dialog.value = null
  }

  const { value: person } = shownPerson
  const threadId = shown.view === 'channel' ? shown.threadId : undefined
  const isNavigationShown = isNarrow.value && navigation.value
  return (
    <div class="workspace" data-panel={threadId && 'thread'} data-navigation={navigation.value ? 'open' : 'closed'}>
      <TopBar
        workspace={workspace}
        isNavigationOpen={navigation.value}
        onNavigation={() => (navigation.value = !navigation.value)}
        onShortcuts={() => (dialog.value = 'shortcuts')}
      />
      <Sidebar workspace={workspace} onChosen={() => (navigation.value = false)} />
      <Main workspace={workspace} isCovered={isNavigationShown || (isNarrow.value && threadId !== undefined)} />
      {shown.view === 'channel' && threadId && (
        <ThreadPanel
          key={threadId}
          workspace={workspace}
          channelId={shown.id}
          parentId={threadId}
          replyId={shown.messageId}
          isCovered={isNavigationShown}
        />
      )}
      {dialog.value === 'switcher' && <QuickSwitcher workspace={workspace} onClose={closerOf('switcher')} />}
      {dialog.value === 'shortcuts' && <LoadedKeyboardShortcuts onClose={closerOf('shortcuts')} />}
      {person && (
        <LoadedDialog
          key={person.id}
          name={person.userName}
          part={card}
          onClose={() => (shownPerson.value = null)}
          render={(PersonCard) => <PersonCard workspace={workspace} person={person} />}
        />
      )}
      <Announcements workspace={workspace} />
      <Toasts workspace={workspace} />
    </div>
  )
}

/** The keyboard shortcuts of the whole page. The dialog `KeyboardShortcuts` lists them. */
function useShortcuts(workspace: Workspace, dialog: Signal<OpenDialog | null>, navigation: Signal<boolean>) {
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const isTyping =
        event.target instanceof HTMLElement && event.target.matches('input, textarea, select, [contenteditable]')
      const hasModifier = event.ctrlKey || event.metaKey
      if (hasModifier && event.key.toLowerCase() === 'k') {
        event.preventDefault()
        dialog.value = 'switcher'
      } else if ((event.key === '?' && !isTyping) || (hasModifier && event.key === '/')) {
        event.preventDefault()
        dialog.value = 'shortcuts'
      } else if (event.altKey && !event.ctrlKey && (event.key === 'ArrowUp' || event.key === 'ArrowDown')) {
        // In a choice of the browser these keys open its list. Below a dialog nobody sees which channel is open.
        if (document.querySelector('dialog[open]') || event.target instanceof HTMLSelectElement) return
        event.preventDefault()
        goToNeighbour(workspace, event.key === 'ArrowDown' ? 1 : -1, event.shiftKey)
      } else if (event.key === '/' && !isTyping) {
        event.preventDefault()
        document.querySelector<HTMLElement>('.search input')!.focus()
      } else if (event.key === 'Escape' && navigation.value) {
        navigation.value = false
        document.querySelector<HTMLElement>('.only-narrow button')!.focus()
      }
    }
    document.addEventListener('keydown', onKeyDown)
    return () => document.removeEventListener('keydown', onKeyDown)
  }, [workspace])
}

/** The chosen view. With `isCovered`, the person sees the navigation or a thread instead. */
function Main({ workspace, isCovered }: { workspace: Workspace; isCovered: boolean }) {
  const { value: shown } = address
  if (shown.view === 'channel')
    return (
      <ChannelView
        key={shown.id}
        workspace={workspace}
        id={shown.id}
        messageId={shown.threadId === undefined ? shown.messageId : undefined}
        isCovered={isCovered}
      />
    )
  // The key is the address itself, so that the same search again is a new page.
  if (shown.view === 'search') return <SearchPage key={shown} workspace={workspace} query={shown.query} />
  if (shown.view === 'threads') return <Page workspace={workspace} name={t('Threads')} content={threads()} />
  if (shown.view === 'admin') return <Administration workspace={workspace} page={shown.page} />
  const account = accountPages.find((page) => page === shown.view)
  if (account) return <Account workspace={workspace} page={account} />
  return <main class="main" aria-busy={!workspace.isReady.value} />
}

function titleOf(workspace: Workspace): string {
  const { value: shown } = address
  const unread = unreadTotals(workspace).unreadCount + markedIn(workspace)
  const server = workspace.settings().name || 'Parley'
  const open = nameOfView(workspace, shown)
  return `${unread > 0 ? `(${unread}) ` : ''}${open ? `${open} – ` : ''}${server}`
}

/** Whether there are unread mentions of the person, unread direct messages or unread threads. */
const hasUnreadForMe = (workspace: Workspace) =>
  unreadTotals(workspace).mentionCount > 0 ||
  workspace.unreadThreads.value > 0 ||
  workspace.conversations().some((conversation) => unreadCountOf(workspace, { kind: 'direct', conversation }) > 0)

/** The number of messages that are unread only because of the person's marks. */
function markedIn(workspace: Workspace): number {
  let count = 0
  for (const id of workspace.marks.ids()) {
    const state = workspace.known(id)
    if (state && !state.isMuted) count += workspace.marks.count(id, state)
  }
  return count
}

function nameOfView(workspace: Workspace, shown: Address): string | undefined {
  switch (shown.view) {
    case 'channel': {
      const place = workspace.place(shown.id)
      return place && `${place.kind === 'channel' ? '#' : ''}${nameOfPlace(place)}`
    }
    case 'threads':
      return t('Threads')
    case 'search':
      return t('Search results')
    case 'admin':
      return adminPageName(shown.page)
    case 'home':
    case 'link':
    case 'unknown':
      return undefined
    default:
      return accountPageName(shown.view)
  }
}

/** Opens the next or previous channel or conversation, in the order of the sidebar. With `isUnread`, it has unread messages. */
function goToNeighbour(workspace: Workspace, step: 1 | -1, isUnread: boolean) {
  const { value: shown } = address
  const isOpen = (id: string) => shown.view === 'channel' && shown.id === id
  const all = workspace.placeIds().filter((id) => !isUnread || isOpen(id) || hasUnread(workspace, id))
  const at = shown.view === 'channel' ? all.indexOf(shown.id) : -1
  // From another view, the previous one is the last, so it is not counted from -1.
  const next = all.at(Math.max(-1, at + step) % all.length)
  if (next && !isOpen(next)) navigate(channelAddress(next))
}

function hasUnread(workspace: Workspace, id: string): boolean {
  const place = workspace.place(id)
  return place !== undefined && unreadCountOf(workspace, place) > 0
}
