import { channelAddress, openPlaceId } from './address.ts'
import type { Workspace } from './workspace.ts'

/**
 * Opens another channel or conversation, if this one is open, after the person has left or deleted it. The list may still have it, so the
 * home page would open it again. `open` is from `navigateLater`.
 */
export function openAnother(workspace: Workspace, leftId: string, open: (to: string) => void) {
  if (openPlaceId.peek() !== leftId) return
  const other = workspace.placeIds().find((id) => id !== leftId)
  open(other === undefined ? '/' : channelAddress(other))
}
