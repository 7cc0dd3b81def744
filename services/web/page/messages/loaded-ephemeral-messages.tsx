import { NotLoaded } from '../app/page.tsx'
import { createPart } from '../app/part.ts'
import type { Workspace } from '../app/workspace.ts'

const part = createPart(() => import('./ephemeral-messages.tsx').then(({ EphemeralMessages }) => EphemeralMessages))

/** The ephemeral messages of a channel. Their code is loaded with the first one, because a page never begins with one. */
export function LoadedEphemeralMessages({ workspace, channelId }: { workspace: Workspace; channelId: string }) {
  const messages = workspace.ephemeral.of(channelId)
  if (messages.length === 0) return null
  const EphemeralMessages = part()
  if (EphemeralMessages === 'failed') return <NotLoaded />
  return EphemeralMessages === 'loading' ? null : <EphemeralMessages messages={messages} workspace={workspace} />
}
