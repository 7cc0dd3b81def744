import { channelAddress, navigateLater, openPlaceId } from './address.ts'
import type { Workspace } from './workspace.ts'

/**
 * Sends the request after which the person is no longer in a channel, and calls `onEnded`. Then, if the channel is open, opens another
 * channel or conversation. The list may still have this one, so the home page would open it again. @throws RequestFailed
 */
export async function openAnotherAfter(
  workspace: Workspace,
  channelId: string,
  { send, onEnded }: { send: () => Promise<unknown>; onEnded: () => void },
) {
  const open = navigateLater()
  await send()
  onEnded()
  if (openPlaceId.peek() !== channelId) return
  const other = workspace.placeIds().find((id) => id !== channelId)
  open(other === undefined ? '/' : channelAddress(other))
}
