import { useEffect } from 'preact/hooks'
import type { Workspace } from '../app/workspace.ts'
import { announce, announced } from '../ui/announced.ts'
import { announceOpenChannel } from './announce-open-channel.ts'

/** The live region of everything that screen readers announce, such as new messages of the open channel. */
export function Announcements({ workspace }: { workspace: Workspace }) {
  useEffect(() => announceOpenChannel(workspace), [workspace])
  // The next person must not find the last text.
  useEffect(() => () => announce(''), [])
  return (
    <div class="visually-hidden" aria-live="polite">
      {/* A new key creates a new element, so that the same text is announced a second time. */}
      <p key={announced.value.number}>{announced.value.text}</p>
    </div>
  )
}
