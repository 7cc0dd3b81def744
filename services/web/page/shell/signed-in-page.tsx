import { useSignal, useSignalEffect } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { Account } from '../account/account.tsx'
import { Administration } from '../admin/administration.tsx'
import { accountPages, address, channelAddress, navigate } from '../app/address.ts'
import { isNarrow, isThreadAlone } from '../app/attention.ts'
import { placeAtStart } from '../app/last-place.ts'
import { LoadedDialog } from '../app/loaded-dialog.tsx'
import { Page } from '../app/page.tsx'
import { createPart } from '../app/part.ts'
import { shownPerson } from '../app/shown-person.ts'
import type { Workspace } from '../app/workspace.ts'
import { QuickSwitcher } from '../dialogs/quick-switcher.tsx'
import { SearchPage } from '../search/search-page.tsx'
import { t } from '../texts/texts.ts'
import { showTitle } from '../ui/browser-tab.ts'
import { focusHeading } from '../ui/focus.ts'
import { Announcements } from './announcements.tsx'
import { ChannelView } from './channel-view.tsx'
import { titleOf } from './page-title.ts'
import { type OpenDialog, useShortcuts } from './shortcuts.ts'
import { Sidebar } from './sidebar.tsx'
import { ThreadPanel } from './thread-panel.tsx'
import { Toasts } from './toasts.tsx'
import { TopBar } from './top-bar.tsx'

const threads = createPart(() => import('../threads/threads-page.tsx').then((part) => part.Threads))
const mentions = createPart(() => import('../mentions/mentions-page.tsx').then((part) => part.Mentions))
const saved = createPart(() => import('../saved/saved-page.tsx').then((part) => part.SavedMessages))
const dialogs = createPart(() => import('../dialogs/page-dialogs.ts').then((part) => part.pageDialogs))
const card = createPart(() => import('../dialogs/person-card.tsx').then((part) => part.PersonCard))

/** The whole page of a signed-in person: top bar, sidebar, the chosen view and dialogs. */
export function SignedInPage({ workspace }: { workspace: Workspace }) {
  /** Whether the sidebar of a narrow page is open. */
  const isNavigationOpen = useSignal(false)
  const dialog = useSignal<OpenDialog | null>(null)
  const wasHome = useRef(true)
  const { value: shown } = address

  useSignalEffect(() => {
    const { view } = address.value
    // A channel opens automatically. That must not close the navigation, which the person may have opened meanwhile.
    if (wasHome.current) wasHome.current = view === 'home'
    else isNavigationOpen.value = false
    if (view === 'home') {
      const id = placeAtStart(workspace)
      if (id) navigate(channelAddress(id), { replace: true, isAutomatic: true })
    }
    // The element that had the focus was removed, so the heading gets the focus. In a channel the text box gets it.
    if (view !== 'channel' && view !== 'home') requestAnimationFrame(focusHeading)
  })
  useSignalEffect(() => {
    showTitle(titleOf(workspace))
  })
  useShortcuts(workspace, dialog, isNavigationOpen)

  /** Returns a function that closes this dialog. Its event `close` comes a little later, and another dialog may be open by then. */
  const closerOf = (which: OpenDialog) => () => {
    if (dialog.value === which) dialog.value = null
  }

  const { value: opened } = dialog
  const { value: person } = shownPerson
  // The thread of a channel that the person may not read any more is not shown.
  const threadId = shown.view === 'channel' && workspace.missingId.value !== shown.id ? shown.threadId : undefined
  const isNavigationShown = isNarrow.value && isNavigationOpen.value
  return (
    <div
      class="workspace"
      data-panel={threadId && 'thread'}
      data-navigation={isNavigationOpen.value ? 'open' : 'closed'}
    >
      <TopBar
        workspace={workspace}
        isNavigationOpen={isNavigationOpen.value}
        onNavigation={() => (isNavigationOpen.value = !isNavigationOpen.value)}
        onDialog={(which) => (dialog.value = which)}
      />
      <Sidebar workspace={workspace} onChosen={() => (isNavigationOpen.value = false)} />
      <Main workspace={workspace} isCovered={isNavigationShown || (isThreadAlone.value && threadId !== undefined)} />
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
      {opened === 'switcher' && <QuickSwitcher workspace={workspace} onClose={closerOf(opened)} />}
      {opened && opened !== 'switcher' && (
        <LoadedDialog
          name={{ read: t('Mark all as read'), shortcuts: t('Keyboard shortcuts'), status: t('Set a status') }[opened]}
          part={dialogs}
          onClose={closerOf(opened)}
          render={(loaded) => {
            const OpenedDialog = loaded[opened]
            return <OpenedDialog workspace={workspace} onClose={closerOf(opened)} />
          }}
        />
      )}
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
  if (shown.view === 'mentions') return <Page workspace={workspace} name={t('Mentions')} content={mentions()} />
  if (shown.view === 'saved') return <Page workspace={workspace} name={t('Saved messages')} content={saved()} />
  if (shown.view === 'admin') return <Administration workspace={workspace} page={shown.page} />
  const account = accountPages.find((page) => page === shown.view)
  if (account) return <Account workspace={workspace} page={account} />
  return <main class="main" aria-busy={!workspace.isReady.value} />
}
