import type { Config } from '@parley/config'
import { type Database, recordJob, type Transaction } from '@parley/database'
import type { Logger } from '@parley/telemetry'
import { type Repeated, repeat } from '../repeat.ts'
import { listMissedBy, type Period, takeProgress } from './missed-messages.queries.ts'

interface MissedMessagesOptions {
  db: Database
  config: Pick<Config, 'auth' | 'email'>
  logger: Logger
  clock: () => number
}

/** The largest number of people at whom one transaction looks. */
const peopleAtOnce = 200
/** Smaller than the id of each person. */
export const beforeEverybody = '00000000-0000-0000-0000-000000000000'
/** The largest number of messages that a mail shows. */
const shownMessages = 20
/** A period is not longer than this, or than twice `afterSeconds`: perhaps somebody has configured the mail server just now. */
const oldestMs = 86_400_000
const longestPauseMs = 60_000

/** Records mails about missed messages periodically, until it is stopped. Every worker does it, one at a time. */
export const startMissedMessages = (options: MissedMessagesOptions): Repeated =>
  repeat(
    async (stopping) => {
      const mails = await mailMissedMessages(options, stopping)
      if (mails > 0) options.logger.info({ mails }, 'mails about missed messages were recorded')
    },
    {
      pauseMs: Math.min(longestPauseMs, Math.max(1, afterMs(options.config) / 4)),
      logger: options.logger,
      failure: 'mails about missed messages could not be recorded, will try again',
    },
  )

/**
 * Records a mail to each person who has missed messages of the periods that have ended, and returns the number of mails. It has nothing to do
 * while another worker does the same.
 */
async function mailMissedMessages(options: MissedMessagesOptions, stopping: AbortSignal): Promise<number> {
  for (let mails = 0; ; ) {
    const recorded = await options.db.transaction().execute((trx) => recordNext(trx, options))
    if (recorded === undefined || stopping.aborted) return mails
    mails += recorded
  }
}

/**
 * Records the mails to the next people of the current period, or of the next one. The transaction records them together with the progress, so
 * that no mail is recorded twice. Undefined when there is nothing to do.
 */
async function recordNext(trx: Transaction, { config, clock }: MissedMessagesOptions): Promise<number | undefined> {
  const progress = await takeProgress(trx)
  if (!progress) return undefined
  const period = nextPeriod(progress, afterMs(config))
  if (!period) return undefined

  const { missedBy, lastUserId } = await listMissedBy(trx, {
    period,
    after: progress.lastUserId ?? beforeEverybody,
    people: peopleAtOnce,
    messages: shownMessages,
    now: clock(),
  })
  for (const { userId, email, messageIds, count } of missedBy) {
    const more = count - messageIds.length
    await recordJob(trx, 'send-missed-messages', { userId, to: email, messageIds, more })
  }
  await trx
    .updateTable('missedMessagesProgress')
    .set(
      lastUserId === null
        ? { doneUntil: period.until, runningUntil: null, lastUserId }
        : { runningUntil: period.until, lastUserId },
    )
    .execute()
  return missedBy.length
}

/**
 * The period that was begun, or the next one. It ends `afterMs` ago and lasts at least as long, so that a person gets one mail about all its
 * messages. Undefined when it has not ended.
 */
export function nextPeriod(
  { doneUntil, runningUntil, now }: { doneUntil: number; runningUntil: number | null; now: number },
  afterMs: number,
): Period | undefined {
  const until = runningUntil ?? now - afterMs
  if (runningUntil === null && until - doneUntil < afterMs) return undefined
  return { from: Math.max(doneUntil, until - Math.max(oldestMs, 2 * afterMs)), until }
}

const afterMs = ({ email }: Pick<Config, 'email'>) => email.missedMessages.afterSeconds * 1_000
