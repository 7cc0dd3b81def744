import { nameKey, readName } from '@parley/accounts'
import { invalid, limits } from '@parley/contract'
import { type ChannelRow, isDuplicate } from '@parley/database'

/** The fields of a channel that clients may set. On an update absent fields keep their values. */
export interface ChannelFields {
  name?: string
  topic?: string
  isPrivate?: boolean
  members?: string[]
  /** People to add to the members. */
  addMembers?: string[]
  /** People to remove from the members. */
  removeMembers?: string[]
  /** Ids of groups, whose people are members for as long as they are in one of them. */
  groups?: string[]
}

/** Reads a channel's name, and its unique key. @throws ApiError 400 when the name is refused. */
export function readChannelName(text: string): Pick<ChannelRow, 'name' | 'nameKey'> {
  const name = readName(text, 'name', limits.channelName)
  return { name, nameKey: nameKey(name) }
}

/** A blank topic counts as no topic. */
export const readTopic = (text: string): string | null => text.trim() || null

export const kindOf = (isPrivate: boolean) => (isPrivate ? 'private' : 'public')

/** Rethrows an error that occurred while a channel was stored. A name that is in use becomes a 400. */
export function explainTakenName(error: unknown): never {
  if (isDuplicate(error, 'channels_live_name')) throw invalid('There is already a channel with this name', 'duplicate')
  throw error
}
