import { deactivateExpiredGuests, joinMissedChannels } from '@parley/accounts'
import type { Config } from '@parley/config'
import type { Database, Transaction } from '@parley/database'
import type { Logger } from '@parley/telemetry'
import { type Repeated, repeat } from '../repeat.ts'

export interface PeopleUpkeepOptions {
  db: Database
  config: Pick<Config, 'chat'>
  logger: Logger
  clock: () => number
}

/**
 * Guests whose time is over are kept out at once: every request looks at it, and streams end by themselves. So ten seconds are
 * soon enough to deactivate them.
 */
const everyMs = 10_000

/** Deactivates all guests whose time is over, and answers how many. Several workers may do it at the same time. */
export const expireGuests = ({ db, clock }: Pick<PeopleUpkeepOptions, 'db' | 'clock'>): Promise<number> =>
  inPortions(db, (trx) => deactivateExpiredGuests(trx, clock()))

/** Lets everybody whom the version before created join General, and answers how many. Several workers may do it at the same time. */
export const joinLatePeople = ({ db, config, clock }: Omit<PeopleUpkeepOptions, 'logger'>): Promise<number> =>
  inPortions(db, (trx) => joinMissedChannels(trx, { autoJoin: config.chat.autoJoin, now: clock() }))

/** Does both again and again, until stopped. */
export const startPeopleUpkeep = (options: PeopleUpkeepOptions): Repeated =>
  repeat(
    async () => {
      const guests = await expireGuests(options)
      const joined = await joinLatePeople(options)
      if (guests > 0) options.logger.info({ guests }, 'guests whose time is over were deactivated')
      if (joined > 0) options.logger.info({ joined }, 'people whom the version before created have joined General')
    },
    { pauseMs: everyMs, logger: options.logger, failure: 'the upkeep of people failed, will try again' },
  )

async function inPortions(db: Database, work: (trx: Transaction) => Promise<number>): Promise<number> {
  for (let total = 0; ; ) {
    const done = await db.transaction().execute(work)
    if (done === 0) return total
    total += done
  }
}
