import { useSignal, useSignalEffect } from '@preact/signals'
import { address, navigate, searchAddress } from '../app/address.ts'
import { isNarrow, isOnline } from '../app/attention.ts'
import { signOut } from '../app/session.ts'
import type { Workspace } from '../app/workspace.ts'
import { Avatar } from '../messages/avatar.tsx'
import { t } from '../texts/texts.ts'
import { Icon, IconButton } from '../ui/icons.tsx'
import { Menu } from '../ui/menu.tsx'
import { attempt } from '../ui/problems.ts'

interface TopBarProps {
  workspace: Workspace
  /** Whether the sidebar of a narrow page is open. */
  isNavigationOpen: boolean
  onNavigation: () => void
  onDialog: (dialog: 'shortcuts' | 'read' | 'status') => void
}

/** The bar above the sidebar, or on a narrow page above the open channel. */
export function TopBar({ workspace, isNavigationOpen, onNavigation, onDialog }: TopBarProps) {
  const { value: me } = workspace.me
  const name = workspace.settings().name || 'Parley'
  const account = (
    <Menu
      key="account"
      face={<Avatar workspace={workspace} name={me.userName} id={workspace.myId} size="small" />}
      name={t('Account')}
      items={[
        { name: t('Profile'), href: '/profile' },
        { name: t('Set a status'), onChoose: () => onDialog('status') },
        { name: t('Security'), href: '/security' },
        { name: t('Sessions'), href: '/sessions' },
        { name: t('API tokens'), href: '/tokens' },
        { name: t('Preferences'), href: '/preferences' },
        ...(me.isAdmin ? [{ name: t('Administration'), href: '/admin/people', hasSeparator: true }] : []),
        { name: t('Mark all as read'), onChoose: () => onDialog('read'), hasSeparator: true },
        { name: t('Keyboard shortcuts'), onChoose: () => onDialog('shortcuts') },
        { name: t('Sign out'), onChoose: () => void attempt(signOut()), hasSeparator: true },
      ]}
    />
  )
  const search = (
    <search key="search">
      <form
        class="search"
        onSubmit={(event) => {
          event.preventDefault()
          const query = String(new FormData(event.currentTarget).get('q') ?? '').trim()
          if (query !== '') navigate(searchAddress(query))
        }}
      >
        <Icon name="search" />
        <input
          class="input"
          type="search"
          name="q"
          aria-label={t('Search')}
          placeholder={t('Search')}
          // The field shows the current search, also after navigating back.
          key={address.value.view === 'search' ? address.value.query : ''}
          defaultValue={address.value.view === 'search' ? address.value.query : ''}
        />
      </form>
    </search>
  )
  return (
    <header class="top-bar">
      <span class="only-narrow">
        <IconButton
          icon="menu"
          name={t('Navigation')}
          expanded={isNavigationOpen}
          opens="part of the page"
          onClick={onNavigation}
        />
      </span>
      <div class="where">
        <span class="server-mark" aria-hidden="true">
          {[...name][0]?.toUpperCase()}
        </span>
        <span>
          <span class="server-name">{name}</span>
          <Connection workspace={workspace} />
        </span>
      </div>
      {/* In the order in which they are seen, because the Tab key follows it. */}
      {isNarrow.value ? [search, account] : [account, search]}
    </header>
  )
}

/** Shorter interruptions are not shown. The limit is below the two seconds after which the page must say something. */
const noticeMs = 1_500

function Connection({ workspace }: { workspace: Workspace }) {
  const isLate = useSignal(false)
  useSignalEffect(() => {
    isLate.value = false
    if (workspace.connection.value === 'live') return
    const timer = setTimeout(() => {
      isLate.value = true
    }, noticeMs)
    return () => clearTimeout(timer)
  })
  const { value: connection } = workspace.connection
  const waiting = connection === 'connecting' ? t('Connecting…') : t('Reconnecting…')
  return (
    <span class="connection" role="status">
      {isOnline.value ? connection !== 'live' && isLate.value && waiting : t('Offline')}
    </span>
  )
}
