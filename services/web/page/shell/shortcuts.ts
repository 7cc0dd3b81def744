import type { Signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { channelAddress, navigate, openPlaceId } from '../app/address.ts'
import { preferences } from '../app/preferences.ts'
import { hasUnread } from '../app/unread-counts.ts'
import type { Workspace } from '../app/workspace.ts'

/** The dialogs that the page opens by a shortcut or from the account menu. */
export type OpenDialog = 'switcher' | 'shortcuts' | 'read' | 'status'

/** The keyboard shortcuts of the whole page. The dialog `KeyboardShortcuts` lists them. */
export function useShortcuts(
  workspace: Workspace,
  dialog: Signal<OpenDialog | null>,
  isNavigationOpen: Signal<boolean>,
) {
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const isTyping =
        event.target instanceof HTMLElement && event.target.matches('input, textarea, select, [contenteditable]')
      const isCharacterKey = !isTyping && preferences.value.characterKeys
      const hasModifier = event.ctrlKey || event.metaKey
      if (hasModifier && event.key.toLowerCase() === 'k') {
        event.preventDefault()
        dialog.value = 'switcher'
      } else if ((event.key === '?' && isCharacterKey) || (hasModifier && event.key === '/')) {
        event.preventDefault()
        dialog.value = 'shortcuts'
      } else if (event.altKey && !event.ctrlKey && (event.key === 'ArrowUp' || event.key === 'ArrowDown')) {
        // In a choice of the browser these keys open its list. Below a dialog nobody sees which channel is open.
        if (document.querySelector('dialog[open]') || event.target instanceof HTMLSelectElement) return
        event.preventDefault()
        goToNeighbour(workspace, event.key === 'ArrowDown' ? 1 : -1, event.shiftKey)
      } else if (event.key === '/' && isCharacterKey) {
        event.preventDefault()
        document.querySelector<HTMLElement>('.search input')!.focus()
      } else if (event.key === 'Escape' && isNavigationOpen.value) {
        isNavigationOpen.value = false
        document.querySelector<HTMLElement>('.only-narrow button')!.focus()
      }
    }
    document.addEventListener('keydown', onKeyDown)
    return () => document.removeEventListener('keydown', onKeyDown)
  }, [workspace])
}

/** Opens the next or previous channel or conversation, in the order of the sidebar. With `isUnread`, it has unread messages. */
function goToNeighbour(workspace: Workspace, step: 1 | -1, isUnread: boolean) {
  const { value: openId } = openPlaceId
  const all = workspace.placeIds().filter((id) => !isUnread || id === openId || hasUnread(workspace, id))
  const at = openId === undefined ? -1 : all.indexOf(openId)
  // From another view, the previous one is the last, so it is not counted from -1.
  const next = all.at(Math.max(-1, at + step) % all.length)
  if (next && next !== openId) navigate(channelAddress(next))
}
