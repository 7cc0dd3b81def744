import { detailsOf, type Place, type PlaceDetails } from './places.ts'
import type { Workspace } from './workspace.ts'

/**
 * The number of messages that are unread, or that the person has marked as unread. Messages that they see at this moment are not unread,
 * and of what is muted only mentions are.
 */
export function unreadCountOf(workspace: Workspace, place: Place): number {
  const details = detailsOf(place)
  const count = countWithoutMarks(details)
  const isSeen = count > 0 && workspace.seenId.value === details.id
  return (isSeen ? 0 : count) + countOfMarks(workspace, details)
}

/** The number of these messages that mention the person. */
export function mentionCountOf({ marks }: Workspace, place: Place): number {
  const details = detailsOf(place)
  return details.mentionCount + marks.mentionCount(details.id, details)
}

export function hasUnread(workspace: Workspace, id: string): boolean {
  const place = workspace.place(id)
  return place !== undefined && unreadCountOf(workspace, place) > 0
}

/** The unread messages without those that the person has marked. */
const countWithoutMarks = ({ isMuted, mentionCount, unreadCount }: PlaceDetails) =>
  isMuted ? mentionCount : unreadCount

/** The number of messages that are unread only because of the person's marks. Of what is muted only mentions count. */
const countOfMarks = ({ marks }: Workspace, details: PlaceDetails) =>
  details.isMuted ? marks.mentionCount(details.id, details) : marks.count(details.id, details)

/** The numbers of unread messages and mentions in all channels and conversations, without those that the person sees at this moment. */
export function unreadTotals(workspace: Workspace): { unreadCount: number; mentionCount: number } {
  const { unreadCount, mentionCount } = workspace.totals()
  const { value: seenId } = workspace.seenId
  // As the totals, without `unsavedPreferences`.
  const seen = unreadCount > 0 && seenId !== undefined ? workspace.detailsOnServer(seenId) : undefined
  // Channels that the person has not joined are not in the totals.
  if (!seen || ('isMember' in seen && !seen.isMember)) return { unreadCount, mentionCount }
  return { unreadCount: unreadCount - countWithoutMarks(seen), mentionCount: mentionCount - seen.mentionCount }
}

/** The number of messages in all channels and conversations that are unread only because of the person's marks. */
export function markedCount(workspace: Workspace): number {
  let count = 0
  for (const id of workspace.marks.ids()) {
    const details = workspace.detailsOnServer(id)
    if (details) count += countOfMarks(workspace, details)
  }
  return count
}
