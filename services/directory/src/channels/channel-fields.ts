import { nameKey, readName } from '@parley/accounts'
import { invalid, limits } from '@parley/contract'
import { type ChannelRow, isDuplicate } from '@parley/database'

/** What clients may say of a channel; on an update what is absent stays. */
export interface ChannelFields {
  name?: string
  topic?: string
  isPrivate?: boolean
  members?: string[]
}

/** A channel's name and what makes it unique. @throws ApiError 400 when the name is refused. */
export function readChannelName(text: string): Pick<ChannelRow, 'name' | 'nameKey'> {
  const name = readName(text, 'name', limits.channelName)
  return { name, nameKey: nameKey(name) }
}

/** A blank topic is none. */
export const readTopic = (text: string): string | null => text.trim() || null

export const kindOf = (isPrivate: boolean) => (isPrivate ? 'private' : 'public')

/** Rethrows what storing a channel threw, a taken name as the refusal that callers see. */
export function explainTakenName(error: unknown): never {
  if (isDuplicate(error, 'channels_live_name')) throw invalid('There is already a channel with this name', 'duplicate')
  throw error
}

export const unknownMember = () => invalid('members must contain only ids of users, and at least one of them is not')
