import { detailsOf, type Place } from './places.ts'
import { unreadCountOf } from './unread-counts.ts'
import type { Workspace } from './workspace.ts'

/** Whether a channel or conversation has unread messages. What is muted counts too, although the sidebar does not show it. */
export const isUnread = (workspace: Workspace, place: Place) =>
  detailsOf(place).unreadCount > 0 || unreadCountOf(workspace, place) > 0

export function markAsRead(workspace: Workspace, place: Place) {
  const { id, readSeq, lastSeq, unreadCount } = detailsOf(place)
  workspace.marks.take(id, { readSeq })
  if (unreadCount > 0) workspace.readSender.send(id, lastSeq)
}
