import type { Workspace } from './workspace.ts'

export const lastPlaceKey = ({ myId }: Workspace) => `parley.place ${myId}`

/**
 * The channel or conversation that the person has opened last in this browser, or the first one if that is not theirs any more. Undefined
 * while the lists do not say which one it is. The channels are listed before the conversations.
 */
export function placeAtStart(workspace: Workspace): string | undefined {
  const lastId = localStorage.getItem(lastPlaceKey(workspace))
  const mayStillCome = !workspace.isReady.value && lastId !== null && !workspace.place(lastId)
  return mayStillCome ? undefined : [lastId ?? '', ...workspace.placeIds()].find(workspace.place)
}
