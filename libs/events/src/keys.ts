/** The one field of a stream entry. */
export const entryField = 'e'

/**
 * Names in Redis, below the prefix of this installation. The braces keep everything of one kind in one slot of a cluster: the
 * stream and the channel it is published on are used by one script.
 */
export function redisNames({ keyPrefix = 'parley:' }: { keyPrefix?: string } = {}) {
  return {
    stream: (epoch: string) => `${keyPrefix}{events}:${epoch}`,
    events: `${keyPrefix}{events}`,
    ephemeral: `${keyPrefix}{ephemeral}`,
    wake: `${keyPrefix}{wake}`,
    jobs: `${keyPrefix}{jobs}`,
    rates: `${keyPrefix}rate:`,
  }
}
