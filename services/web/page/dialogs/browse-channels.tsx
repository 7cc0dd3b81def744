import { useSignal } from '@preact/signals'
import { channelAddress } from '../app/address.ts'
import type { Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Icon } from '../ui/icons.tsx'

/** All channels that one may read, found by any part of name or topic. */
export function BrowseChannels({ workspace, onClose }: { workspace: Workspace; onClose: () => void }) {
  const query = useSignal('')
  const wanted = query.value.trim().toLowerCase()
  const found = workspace.channels.value.filter(({ name, topic }) =>
    `${name} ${topic ?? ''}`.toLowerCase().includes(wanted),
  )
  return (
    <Dialog name={t('Browse channels')} onClose={onClose}>
      <input
        class="input"
        type="search"
        aria-label={t('Find a channel')}
        placeholder={t('Find a channel')}
        autoFocus
        onInput={(event) => (query.value = event.currentTarget.value)}
      />
      <ul class="rows">
        {found.map(({ id, name, topic, isPrivate }) => (
          <li key={id}>
            <a class="nav-link" href={channelAddress(id)} onClick={onClose}>
              <Icon name={isPrivate ? 'lock' : 'hash'} />
              <span class="name" dir="auto">
                {name} {topic && <span class="quiet">– {topic}</span>}
              </span>
            </a>
          </li>
        ))}
      </ul>
    </Dialog>
  )
}
