/** Names in Redis. The braces keep everything of one kind in one slot of a cluster. */
export const streamKey = (epoch: string) => `parley:{events}:${epoch}`
export const eventsChannel = 'parley:{events}'
export const ephemeralChannel = 'parley:{ephemeral}'
export const wakeChannel = 'parley:{wake}'
/** The one field of a stream entry. */
export const entryField = 'e'
