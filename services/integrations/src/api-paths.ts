import { isConversationId } from '@parley/access'

/*
 * Paths of Parley's API. `channelId` is the id of a channel or conversation as clients know it.
 */

const placePath = (channelId: string) =>
  `/${isConversationId(channelId) ? 'conversations' : 'channels'}/${encodeURIComponent(channelId)}`

export const channelPath = (channelId: string) => `/channels/${encodeURIComponent(channelId)}`

export const conversationPath = (channelId: string) => `/conversations/${encodeURIComponent(channelId)}`

export const messagesPath = (channelId: string) => `${placePath(channelId)}/messages`

/** The bytes of an image of a channel or conversation. */
export const imagePath = (channelId: string, filename: string) => `${messagesPath(channelId)}/image/${filename}`
