import type { Workspace } from '../app/workspace.ts'
import { announceMessages } from '../notifications/announce.ts'
import { watchThreads } from '../threads/watch-threads.ts'
import { sendPreferences } from './place-preferences.ts'

export { takeSnapshot } from '../offline/take-snapshot.ts'
export { UnlistedTexts } from './unlisted-texts.tsx'

/** Starts what runs beside the views of a signed-in person. Returns a function that ends it. */
export function startBackground(workspace: Workspace): () => void {
  const ends = [announceMessages(workspace), watchThreads(workspace), sendPreferences(workspace)]
  return () => {
    for (const end of ends) end()
  }
}
