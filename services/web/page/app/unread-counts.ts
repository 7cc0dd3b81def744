import type { KnownChannel, KnownConversation } from '@parley/client'
import { type Place, readStateOfPlace } from './places.ts'
import type { Workspace } from './workspace.ts'

/**
 * The number of messages that are unread, or that the person has marked as unread. Messages that they see at this moment are not unread,
 * and of what is muted only mentions are.
 */
export function unreadCountOf(workspace: Workspace, place: Place): number {
  const state = readStateOfPlace(place)
  const count = countWithoutMarks(state)
  const isSeen = count > 0 && workspace.seenId.value === state.id
  return (isSeen ? 0 : count) + countOfMarks(workspace, state)
}

/** The number of these messages that mention the person. */
export function mentionCountOf({ marks }: Workspace, place: Place): number {
  const state = readStateOfPlace(place)
  return state.mentionCount + marks.mentionCount(state.id, state)
}

export function hasUnread(workspace: Workspace, id: string): boolean {
  const place = workspace.place(id)
  return place !== undefined && unreadCountOf(workspace, place) > 0
}

/** The unread messages without those that the person has marked. */
const countWithoutMarks = ({ isMuted, mentionCount, unreadCount }: KnownChannel | KnownConversation) =>
  isMuted ? mentionCount : unreadCount

/** The number of messages that are unread only because of the person's marks. Of what is muted only mentions count. */
const countOfMarks = ({ marks }: Workspace, state: KnownChannel | KnownConversation) =>
  state.isMuted ? marks.mentionCount(state.id, state) : marks.count(state.id, state)

/** The numbers of unread messages and mentions in all channels and conversations, without those that the person sees at this moment. */
export function unreadTotals(workspace: Workspace): { unreadCount: number; mentionCount: number } {
  const { unreadCount, mentionCount } = workspace.totals()
  const { value: seenId } = workspace.seenId
  // As the totals, without `unsavedPreferences`.
  const seen = unreadCount > 0 && seenId !== undefined ? workspace.known(seenId) : undefined
  // Channels that the person has not joined are not in the totals.
  if (!seen || ('isMember' in seen && !seen.isMember)) return { unreadCount, mentionCount }
  return { unreadCount: unreadCount - countWithoutMarks(seen), mentionCount: mentionCount - seen.mentionCount }
}

/** The number of messages in all channels and conversations that are unread only because of the person's marks. */
export function markedCount(workspace: Workspace): number {
  let count = 0
  for (const id of workspace.marks.ids()) {
    const state = workspace.known(id)
    if (state) count += countOfMarks(workspace, state)
  }
  return count
}
