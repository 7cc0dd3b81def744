import { countAttempt, networkOf } from '@parley/accounts'
import type { Deps } from '@parley/service'

/**
 * Counts an attempt to sign in through a provider, for the network of a client and all providers together. Answers 0, or the
 * seconds until there may be another one. A sign-in is one attempt: its start counts, and its callback does not, because the
 * state that it brings back was counted when it was given out. A callback without a good state is an attempt of its own.
 */
export const countOauthAttempt = ({ db, config }: Pick<Deps, 'db' | 'config'>, ip: string, now: number) =>
  countAttempt(db, { kind: 'oauth from network', most: config.oauth.attemptsPerNetwork }, networkOf(ip), now)
