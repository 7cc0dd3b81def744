import { customStatusOf, lineOf } from '../app/custom-status.ts'
import type { Workspace } from '../app/workspace.ts'

/** The emoji of a person's custom status, beside their name. For screen readers, the card of the person has the status. */
export const renderStatusEmoji = (workspace: Workspace, id: string) => {
  const status = customStatusOf(workspace, id)
  return (
    status?.emoji && (
      <span class="status-emoji" title={lineOf(status)} aria-hidden="true">
        {status.emoji}
      </span>
    )
  )
}
