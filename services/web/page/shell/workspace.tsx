import { useSignal, useSignalEffect } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { Account } from '../account/account.tsx'
import { Administration } from '../admin/administration.tsx'
import { address, channelAddress, navigate } from '../app/address.ts'
import type { Workspace as Model } from '../app/workspace.ts'
import { KeyboardShortcuts } from '../dialogs/keyboard-shortcuts.tsx'
import { QuickSwitcher } from '../dialogs/quick-switcher.tsx'
import { t } from '../texts/texts.ts'
import { ChannelView } from './channel-view.tsx'
import { Problems } from './problems.tsx'
import { SearchResults } from './search-results.tsx'
import { Sidebar } from './sidebar.tsx'
import { ThreadPanel } from './thread-panel.tsx'
import { TopBar } from './top-bar.tsx'

/** The page of somebody who is signed in. */
export function Workspace({ workspace }: { workspace: Model }) {
  const navigation = useSignal(false)
  const dialog = useSignal<'switcher' | 'shortcuts' | null>(null)
  const { value: shown } = address

  useSignalEffect(() => {
    const { view } = address.value
    navigation.value = false
    if (view === 'home' && workspace.isReady.value) {
      const [first] = workspace.channelIds()
      if (first) navigate(channelAddress(first), { replace: true })
    }
  })
  useSignalEffect(() => {
    document.title = titleOf(workspace)
  })
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const isTyping =
        event.target instanceof HTMLElement && event.target.matches('input, textarea, select, [contenteditable]')
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault()
        dialog.value = 'switcher'
      } else if ((event.key === '?' && !isTyping) || ((event.ctrlKey || event.metaKey) && event.key === '/')) {
        event.preventDefault()
        dialog.value = 'shortcuts'
      } else if (event.altKey && (event.key === 'ArrowUp' || event.key === 'ArrowDown')) {
        event.preventDefault()
        goToNeighbour(workspace, event.key === 'ArrowDown' ? 1 : -1)
      }
    }
    document.addEventListener('keydown', onKeyDown)
    return () => document.removeEventListener('keydown', onKeyDown)
  }, [workspace])

  const threadId = shown.view === 'channel' ? shown.threadId : undefined
  return (
    <div class="workspace" data-panel={threadId && 'thread'} data-navigation={navigation.value ? 'open' : 'closed'}>
      <TopBar
        workspace={workspace}
        onNavigation={() => (navigation.value = !navigation.value)}
        onShortcuts={() => (dialog.value = 'shortcuts')}
      />
      <Sidebar workspace={workspace} />
      <Main workspace={workspace} />
      {shown.view === 'channel' && threadId && (
        <ThreadPanel key={threadId} workspace={workspace} channelId={shown.id} parentId={threadId} />
      )}
      {dialog.value === 'switcher' && <QuickSwitcher workspace={workspace} onClose={() => (dialog.value = null)} />}
      {dialog.value === 'shortcuts' && <KeyboardShortcuts onClose={() => (dialog.value = null)} />}
      <Problems />
    </div>
  )
}

function Main({ workspace }: { workspace: Model }) {
  const { value: shown } = address
  if (shown.view === 'channel')
    return <ChannelView key={shown.id} workspace={workspace} id={shown.id} messageId={shown.messageId} />
  if (shown.view === 'search') return <SearchResults key={shown.query} workspace={workspace} query={shown.query} />
  if (shown.view === 'admin') return <Administration workspace={workspace} page={shown.page} />
  if (shown.view === 'preferences' || shown.view === 'profile' || shown.view === 'sessions') {
    return <Account workspace={workspace} view={shown.view} />
  }
  return <main class="main" aria-busy={!workspace.isReady.value} />
}

function titleOf(workspace: Model): string {
  const { value: shown } = address
  const unread = workspace.totals().unreadCount
  const place = shown.view === 'channel' ? workspace.place(shown.id) : undefined
  const open = place
    ? place.kind === 'channel'
      ? `#${place.channel.name}`
      : place.conversation.otherUser.userName
    : shown.view === 'search'
      ? t('Search results')
      : undefined
  const server = workspace.settings().name || 'Parley'
  return `${unread > 0 ? `(${unread}) ` : ''}${open ? `${open} – ` : ''}${server}`
}

/** The order is that of the sidebar. */
function goToNeighbour(workspace: Model, step: 1 | -1) {
  const { value: shown } = address
  const all = [...workspace.channelIds(), ...workspace.conversationIds()]
  const at = shown.view === 'channel' ? all.indexOf(shown.id) : -1
  const next = all[(at + step + all.length) % all.length]
  if (next) navigate(channelAddress(next))
}
