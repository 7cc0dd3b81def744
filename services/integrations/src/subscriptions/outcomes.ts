import { audit, type Database, recordJob, type Transaction } from '@parley/database'
import type { Subscriber } from './subscribers.ts'

/** A subscription that fails for this time is paused. */
const pauseAfterMs = 3 * 24 * 3_600_000

interface Parts {
  db: Database
  clock: () => number
  wakeRelay: () => void
}

/** Call it when the receiver accepted an event after failed attempts. */
export async function noteSuccess(db: Database, subscriber: Subscriber) {
  Object.assign(subscriber, { attempts: 0, failingSince: null, retryAt: 0 })
  await update(db, subscriber, { attempts: 0, failingSince: null, retryAt: null })
}

/** Call it after a failed attempt. After three days without a success the subscription is paused. */
export async function noteFailure(
  parts: Parts,
  subscriber: Subscriber,
  { now, retryAt, error }: { now: number; retryAt: number; error: string },
) {
  const attempts = subscriber.attempts + 1
  const failingSince = subscriber.failingSince ?? now
  if (now - failingSince >= pauseAfterMs)
    return notePause(parts, subscriber, `It failed for three days. The last error was: ${error}`)
  Object.assign(subscriber, { attempts, failingSince, retryAt })
  await update(parts.db, subscriber, { attempts, failingSince, retryAt: Math.round(retryAt) })
}

/**
 * Pauses the subscription, and mails its creator or the admins. The events that it misses are kept for `events.consumerDays`.
 * @throws when the pause could not be stored. The subscription is not paused then.
 */
export async function notePause({ db, clock, wakeRelay }: Parts, subscriber: Subscriber, pauseReason: string) {
  const { id, botId, generation, row } = subscriber
  await db.transaction().execute(async (trx) => {
    const { numUpdatedRows } = await trx
      .updateTable('subscriptions')
      .set({ isPaused: true, pauseReason, updatedAt: clock() })
      .where('id', '=', id)
      .where('generation', '=', generation)
      .where('isPaused', '=', false)
      .where('deletedAt', 'is', null)
      .executeTakeFirstOrThrow()
    if (numUpdatedRows === 0n) return
    await audit(trx, {
      action: 'subscription.pause',
      actorId: botId,
      targetType: 'subscription',
      targetId: id,
      metadata: { pauseReason },
    })
    await mailOwner(trx, subscriber, pauseReason)
  })
  // When somebody changed the subscription meanwhile, perhaps to continue it, their change stays.
  if (subscriber.row === row) subscriber.isPaused = true
  wakeRelay()
}

/** Mails the creator, or all admins when the creator is a bot or not an active admin any more, who could not continue the subscription. */
async function mailOwner(trx: Transaction, { createdBy, url }: Subscriber, reason: string) {
  const admins = await trx
    .selectFrom('users')
    .select(['id', 'email'])
    .where('isAdmin', '=', true)
    .where('removedAt', 'is', null)
    .where('deactivatedAt', 'is', null)
    .orderBy(({ eb }) => eb('id', '=', createdBy), 'desc')
    .orderBy('id')
    .limit(maxMails)
    .execute()
  const text =
    `Parley no longer sends events to ${url}. ${reason}.\n\n` +
    'Please repair the receiver and then continue the subscription. It will get the events that it missed, if they are still stored.\n'
  const creator = admins.filter(({ id }) => id === createdBy)
  for (const { id, email } of creator.length > 0 ? creator : admins) {
    await recordJob(trx, 'send-mail', { to: email, userId: id, subject: 'An event subscription is paused', text })
  }
}

const maxMails = 20

const update = (
  db: Database,
  { id, generation }: Subscriber,
  state: { attempts: number; failingSince: number | null; retryAt: number | null },
) => db.updateTable('subscriptions').set(state).where('id', '=', id).where('generation', '=', generation).execute()
