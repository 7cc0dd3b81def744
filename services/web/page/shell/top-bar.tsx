import { useSignal, useSignalEffect } from '@preact/signals'
import { address, navigate, searchAddress } from '../app/address.ts'
import { attempt } from '../app/problems.ts'
import { signOut } from '../app/session.ts'
import type { Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'
import { IconButton } from '../ui/icons.tsx'
import { Menu } from '../ui/menu.tsx'

interface TopBarProps {
  workspace: Workspace
  onNavigation: () => void
  onShortcuts: () => void
}

export function TopBar({ workspace, onNavigation, onShortcuts }: TopBarProps) {
  const isAdmin = workspace.me.value?.isAdmin === true
  return (
    <header class="top-bar">
      <span class="only-narrow">
        <IconButton icon="menu" name={t('Navigation')} onClick={onNavigation} />
      </span>
      <span class="server-name">{workspace.settings().name || 'Parley'}</span>
      <search>
        <form
          class="search"
          onSubmit={(event) => {
            event.preventDefault()
            const query = String(new FormData(event.currentTarget).get('q') ?? '').trim()
            if (query !== '') navigate(searchAddress(query))
          }}
        >
          <input
            class="input"
            type="search"
            name="q"
            aria-label={t('Search')}
            placeholder={t('Search')}
            defaultValue={address.value.view === 'search' ? address.value.query : ''}
          />
        </form>
      </search>
      <div class="right">
        <Connection workspace={workspace} />
        <Menu
          icon="person"
          name={t('Account')}
          items={[
            { name: t('Profile'), href: '/profile' },
            { name: t('Sessions'), href: '/sessions' },
            { name: t('Preferences'), href: '/preferences' },
            ...(isAdmin ? [{ name: t('Administration'), href: '/admin/people' }] : []),
            { name: t('Keyboard shortcuts'), onChoose: onShortcuts },
            { name: t('Sign out'), onChoose: () => void attempt(signOut()) },
          ]}
        />
      </div>
    </header>
  )
}

/** Short losses are not worth a word: it says something after two seconds. */
const quietMs = 2_000

function Connection({ workspace }: { workspace: Workspace }) {
  const isLate = useSignal(false)
  useSignalEffect(() => {
    isLate.value = false
    if (workspace.connection.value === 'live') return
    const timer = setTimeout(() => {
      isLate.value = true
    }, quietMs)
    return () => clearTimeout(timer)
  })
  const { value: connection } = workspace.connection
  const text = navigator.onLine ? (connection === 'connecting' ? t('Connecting…') : t('Reconnecting…')) : t('Offline')
  return (
    <span class="connection" role="status">
      {connection !== 'live' && isLate.value ? text : ''}
    </span>
  )
}
