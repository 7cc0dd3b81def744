import type { Workspace } from './workspace.ts'

export const lastPlaceKey = ({ myId }: Workspace) => `parley.place ${myId}`

/** The channel or conversation that the person has opened last in this browser, or the first one if that is not theirs any more. */
export const placeAtStart = (workspace: Workspace): string | undefined =>
  [localStorage.getItem(lastPlaceKey(workspace)) ?? '', ...workspace.placeIds()].find(workspace.place)
