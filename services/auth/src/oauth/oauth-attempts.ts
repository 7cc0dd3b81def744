import type { AttemptLimit } from '@parley/accounts'

/** Starts and callbacks of every provider together, for one client. */
export const attemptsOfNetwork: AttemptLimit = { kind: 'oauth from network', most: 10 }
