const groupPrefix = 'group:'

/** A group in the `mentions` of a message. */
export const groupMention = (groupId: string): string => groupPrefix + groupId

/** The ids of the groups in the `mentions` of a message. */
export const groupIdsIn = (mentions: readonly string[] = []): string[] =>
  mentions.filter((mention) => mention.startsWith(groupPrefix)).map((mention) => mention.slice(groupPrefix.length))
