import { deactivateExpiredGuests, joinMissedChannels, removeExpiredStatuses } from '@parley/accounts'
import type { Config } from '@parley/config'
import type { Database, Transaction } from '@parley/database'
import type { Logger } from '@parley/telemetry'
import { type Repeated, repeat } from '../repeat.ts'

interface PeopleUpkeepOptions {
  db: Database
  config: Pick<Config, 'chat'>
  logger: Logger
  clock: () => number
}

/**
 * A guest whose time is over loses access at once: every request checks the time, and streams end by themselves. So it
 * is enough to deactivate the guest within ten seconds.
 */
const everyMs = 10_000

/** Deactivates all guests whose time is over, and returns their number. Several workers may do it at the same time. */
const expireGuests = ({ db, clock }: Pick<PeopleUpkeepOptions, 'db' | 'clock'>): Promise<number> =>
  inBatches(db, (trx) => deactivateExpiredGuests(trx, clock()))

/**
 * Adds the people whom the previous version created to General, and returns their number. Several workers may do it at
 * the same time.
 */
export const joinMissedPeople = ({ db, config, clock }: Omit<PeopleUpkeepOptions, 'logger'>): Promise<number> =>
  inBatches(db, (trx) => joinMissedChannels(trx, { autoJoin: config.chat.autoJoin, now: clock() }))

/**
 * Removes some of the custom statuses that have expired, and returns their number. Very many end at midnight, and everybody gets an event of
 * each, so the rest waits for the next call.
 */
export const expireStatuses = ({ db, clock }: Pick<PeopleUpkeepOptions, 'db' | 'clock'>): Promise<number> =>
  db.transaction().execute((trx) => removeExpiredStatuses(trx, clock()))

/** Deactivates these guests, adds these people and removes these statuses every ten seconds, until it is stopped. */
export const startPeopleUpkeep = (options: PeopleUpkeepOptions): Repeated =>
  repeat(
    async () => {
      const guests = await expireGuests(options)
      const joined = await joinMissedPeople(options)
      await expireStatuses(options)
      if (guests > 0) options.logger.info({ guests }, 'guests whose time is over were deactivated')
      if (joined > 0) options.logger.info({ joined }, 'people whom the previous version created have joined General')
    },
    { pauseMs: everyMs, logger: options.logger, failure: 'the upkeep of people failed, will try again' },
  )

async function inBatches(db: Database, work: (trx: Transaction) => Promise<number>): Promise<number> {
  for (let total = 0; ; ) {
    const done = await db.transaction().execute(work)
    if (done === 0) return total
    total += done
  }
}
