import { effect } from '@preact/signals'
import { unreadCountOf, unreadTotals } from '../app/unread-counts.ts'
import type { Workspace } from '../app/workspace.ts'
import { markIcon } from '../ui/tab-icon.ts'

/** Shows a dot on the icon of the tab while something is unread for the person. Returns a function that ends it. */
export const markIconWhenUnread = (workspace: Workspace): (() => void) =>
  effect(() => void markIcon(hasUnreadForMe(workspace)))

/** Whether there are unread mentions of the person, also marked ones, unread direct messages or unread threads. */
const hasUnreadForMe = (workspace: Workspace) =>
  unreadTotals(workspace).mentionCount > 0 ||
  workspace.unreadThreads.value > 0 ||
  [...workspace.marks.ids()].some((id) => hasMarkedMention(workspace, id)) ||
  workspace.conversations().some((conversation) => unreadCountOf(workspace, { kind: 'direct', conversation }) > 0)

function hasMarkedMention({ marks, detailsOnServer }: Workspace, id: string): boolean {
  const details = detailsOnServer(id)
  return details !== undefined && marks.mentionCount(id, details) > 0
}
