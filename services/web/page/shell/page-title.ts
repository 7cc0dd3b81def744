import { type Address, address } from '../app/address.ts'
import { accountPageName, adminPageName } from '../app/page-names.ts'
import { nameOfPlace } from '../app/places.ts'
import { markedCount, unreadTotals } from '../app/unread-counts.ts'
import type { Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'

/** The title of the browser tab: the number of unread messages, the open view, and the name of the server. */
export function titleOf(workspace: Workspace): string {
  const { value: shown } = address
  const unread = unreadTotals(workspace).unreadCount + markedCount(workspace)
  const server = workspace.settings().name || 'Parley'
  const open = nameOfView(workspace, shown)
  return `${unread > 0 ? `(${unread}) ` : ''}${open ? `${open} – ` : ''}${server}`
}

function nameOfView(workspace: Workspace, shown: Address): string | undefined {
  switch (shown.view) {
    case 'channel': {
      if (workspace.missingId.value) return t('Not found')
      const place = workspace.place(shown.id)
      return place && `${place.kind === 'channel' ? '#' : ''}${nameOfPlace(place)}`
    }
    case 'threads':
      return t('Threads')
    case 'mentions':
      return t('Mentions')
    case 'saved':
      return t('Saved messages')
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
