import type { Config } from '@parley/config'
import { audit, type Database, recordJob, type Transaction } from '@parley/database'
import { mailTexts } from '@parley/mail'
import { type Failures, noteFailures, notePaused, type Settings, type Subscriber } from './subscriber.ts'

/** A subscription that fails for this time is paused. */
const pauseAfterMs = 3 * 24 * 3_600_000

interface Parts {
  db: Database
  config: Pick<Config, 'email'>
  clock: () => number
  wakeRelay: () => void
}

const noFailures: Failures = { attempts: 0, failingSince: null, retryAt: null }

/** Call it when the receiver accepted an event after failed attempts. */
export const noteSuccess = (db: Database, subscriber: Subscriber) => storeFailures(db, subscriber, noFailures)

/** Call it after a failed attempt. After three days without a success the subscription is paused. */
export async function noteFailure(
  parts: Parts,
  subscriber: Subscriber,
  { now, retryAt, error }: { now: number; retryAt: number; error: string },
) {
  const { attempts, failingSince } = subscriber.failures
  if (failingSince !== null && now - failingSince >= pauseAfterMs)
    return notePause(parts, subscriber, `It failed for three days. The last error was: ${error}`)
  await storeFailures(parts.db, subscriber, { attempts: attempts + 1, failingSince: failingSince ?? now, retryAt })
}

async function storeFailures(db: Database, subscriber: Subscriber, failures: Failures) {
  noteFailures(subscriber, failures)
  const { id, generation, settings } = subscriber
  await db
    .updateTable('subscriptions')
    .set(failures)
    .where('id', '=', id)
    .where('generation', '=', generation)
    .where('url', '=', settings.url)
    .execute()
}

/**
 * Pauses the subscription, and mails its creator or the admins. The events that it misses are kept for `events.consumerDays`. It stays
 * active when it has been replayed or has got another address meanwhile.
 * @throws when the pause could not be stored. The subscription is not paused then.
 */
export async function notePause({ db, config, clock, wakeRelay }: Parts, subscriber: Subscriber, pauseReason: string) {
  const { id, generation, settings } = subscriber
  await db.transaction().execute(async (trx) => {
    const { numUpdatedRows } = await trx
      .updateTable('subscriptions')
      .set({ isPaused: true, pauseReason, updatedAt: clock() })
      .where('id', '=', id)
      .where('generation', '=', generation)
      .where('url', '=', settings.url)
      .where('isPaused', '=', false)
      .where('deletedAt', 'is', null)
      .executeTakeFirstOrThrow()
    if (numUpdatedRows === 0n) return
    await audit(trx, {
      action: 'subscription.pause',
      actorId: settings.botId,
      targetType: 'subscription',
      targetId: id,
      metadata: { pauseReason },
    })
    await mailOwner(trx, config, settings, pauseReason)
  })
  // When somebody changed the subscription meanwhile, perhaps to continue it, their change stays.
  if (subscriber.settings === settings) notePaused(subscriber)
  wakeRelay()
}

/** Mails the creator, or all admins when the creator is a bot or not an active admin any more, who could not continue the subscription. */
async function mailOwner(
  trx: Transaction,
  { email: { language: usual } }: Pick<Config, 'email'>,
  { row: { createdBy }, url }: Settings,
  reason: string,
) {
  const admins = await trx
    .selectFrom('users')
    .select(['id', 'email', 'language'])
    .where('isAdmin', '=', true)
    .where('removedAt', 'is', null)
    .where('deactivatedAt', 'is', null)
    .orderBy(({ eb }) => eb('id', '=', createdBy), 'desc')
    .orderBy('id')
    .limit(maxMails)
    .execute()
  const creator = admins.filter(({ id }) => id === createdBy)
  for (const { id, email, language } of creator.length > 0 ? creator : admins) {
    const mail = mailTexts(language ?? usual).pausedSubscription({ url, reason })
    await recordJob(trx, 'send-mail', { to: email, userId: id, ...mail })
  }
}

const maxMails = 20
